// Sums of rows.

static inline int mdh_clamp(int i, int extent) {
  return i < 0 ? 0 : i < extent ? i : extent - 1;
}
static inline int mdh_inside(int i, int extent) { return i >= 0 && i < extent; }
struct mdh_tiles_p {
  ushort w;
  int id;
};
static inline void scatter_float4_shared(__local float* p, long stride, float4 x) {
  p[0 * stride] = x.s0;
  p[1 * stride] = x.s1;
  p[2 * stride] = x.s2;
  p[3 * stride] = x.s3;
}
static inline float mdh_to_f32_h16(ushort a) {
  return vload_half(0, (const half*)&a);
}
static inline int mdh_add_i32(int a, int b) { return (int)((uint)a + (uint)b); }
static inline int mdh_to_i32_i64(long a) { return (int)a; }

// Sums of rows, by tiles; the double of a thread's columns
__kernel __attribute__((reqd_work_group_size(16, 2, 1)))
void mdh_tiles_0(__global const float* restrict x, __global const struct mdh_tiles_p* restrict p, __global float* restrict transposed, __global float* restrict y, __global int* restrict ids, __global char* restrict scratch) {
  __global float* restrict partial = (__global float*)(scratch + 64);
  __local float x_shr[272] __attribute__((aligned(16)));
  __local float t_shr[320] __attribute__((aligned(16)));
  __local float part_shr[128] __attribute__((aligned(16)));
  float acc[4];
  const int i_blk = get_group_id(0);
  const int j_blk = get_group_id(1);
  const int t_x = get_local_id(0);
  const int t_y = get_local_id(1);
  const int t = t_y * 16 + t_x;
  // All threads copy the tile
  #pragma unroll
  for (int c = 0; c < 2; c++) {
    const int row = (t + c * 32) >> 4;
    const int col = ((t + c * 32) & 15) * 4;
    const float4 v = *(__global const float4*)&x[(j_blk * 4 + row) * 128 + i_blk * 64 + col];
    *(__local float4*)&x_shr[row * 68 + col] = v;
    scatter_float4_shared(&t_shr[col * 5 + row], 5, v);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int e = 0; e < 8; e++) {
    const int row = (t + e * 32) >> 2;
    const int col = (t + e * 32) & 3;
    transposed[(i_blk * 64 + row) * 8 + j_blk * 4 + col] = t_shr[row * 5 + col];
  }
  #pragma unroll
  for (int r = 0; r < 4; r++) {
    acc[r] = x_shr[r * 68 + t * 2] + (*(__local const float2*)&x_shr[r * 68 + t * 2]).s1;
  }
  #pragma unroll
  for (int r = 0; r < 4; r++) {
    part_shr[r * 32 + t] = acc[r];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < 4) {
    float s = part_shr[t * 32];
    for (int n = 1; n < 32; n++) {
      s += part_shr[t * 32 + n];
    }
    partial[(j_blk * 4 + t) * 2 + i_blk] = s;
  }
}

// Rows from tiles
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void mdh_tiles_1(__global const float* restrict x, __global const struct mdh_tiles_p* restrict p, __global float* restrict transposed, __global float* restrict y, __global int* restrict ids, __global char* restrict scratch) {
  const int thread = get_local_id(0);
  const int threads = 4;
  __global float* restrict partial = (__global float*)(scratch + 64);
  __global const ushort* p_w = (__global const ushort*)p;
  __global const int* p_id = (__global const int*)p;
  for (int i = thread; i < 8; i += threads) {
    y[i] = partial[i * 2] + partial[i * 2 + 1] + mdh_to_f32_h16(p_w[mdh_clamp(i - 3, 8) * 4]);
    ids[i] = mdh_add_i32(mdh_to_i32_i64((long)(i)), (mdh_inside(i - 1, 8) ? p_id[(i - 1) * 2 + 1] : -7));
  }
}
