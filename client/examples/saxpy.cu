// y = a * x + y: every thread computes WPT elements, neighbours side by side.
template <typename T>
__global__ void saxpy(T a, const T* x, T* y) {
  for (int w = 0; w < WPT; ++w) {
    const int i = w * (threads) + blockIdx.x * BLOCK + threadIdx.x;
    y[i] += a * x[i];
  }
}
