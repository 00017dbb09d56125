// y = a * x + y: every work-item computes WPT elements, neighbours side by side.
__kernel void saxpy(const int n, const float a, const __global float* x, __global float* y) {
  const int items = n / WPT;
  for (int w = 0; w < WPT; ++w) {
    const int i = w * items + get_global_id(0);
    y[i] += a * x[i];
  }
}
