static inline uint8_t mdh_select_b8(uint8_t m, uint8_t a, uint8_t b) { return m ? a : b; }
static inline int8_t mdh_to_i8_b8(uint8_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_b8(uint8_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_b8(uint8_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_b8(uint8_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_b8(uint8_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_b8(uint8_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_b8(uint8_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_b8(uint8_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_b8(uint8_t a) { return (float)a; }
static inline double mdh_to_f64_b8(uint8_t a) { return (double)a; }
static inline int8_t mdh_select_i8(uint8_t m, int8_t a, int8_t b) { return m ? a : b; }
static inline int8_t mdh_abs_i8(int8_t a) { return (int8_t)(a < 0 ? -a : a); }
static inline int8_t mdh_div_i8(int8_t a, int8_t b) { return b == 0 ? 0 : b == -1 ? (int8_t)-a : (int8_t)(a / b); }
static inline int8_t mdh_rem_i8(int8_t a, int8_t b) { return b == 0 || b == -1 ? 0 : (int8_t)(a % b); }
static inline int8_t mdh_min_i8(int8_t a, int8_t b) { return a < b ? a : b; }
static inline int8_t mdh_max_i8(int8_t a, int8_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_i8(int8_t a) { return a != 0; }
static inline int16_t mdh_to_i16_i8(int8_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_i8(int8_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_i8(int8_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_i8(int8_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_i8(int8_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_i8(int8_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_i8(int8_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_i8(int8_t a) { return (float)a; }
static inline double mdh_to_f64_i8(int8_t a) { return (double)a; }
static inline int16_t mdh_select_i16(uint8_t m, int16_t a, int16_t b) { return m ? a : b; }
static inline int16_t mdh_abs_i16(int16_t a) { return (int16_t)(a < 0 ? -a : a); }
static inline int16_t mdh_div_i16(int16_t a, int16_t b) { return b == 0 ? 0 : b == -1 ? (int16_t)-a : (int16_t)(a / b); }
static inline int16_t mdh_rem_i16(int16_t a, int16_t b) { return b == 0 || b == -1 ? 0 : (int16_t)(a % b); }
static inline int16_t mdh_min_i16(int16_t a, int16_t b) { return a < b ? a : b; }
static inline int16_t mdh_max_i16(int16_t a, int16_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_i16(int16_t a) { return a != 0; }
static inline int8_t mdh_to_i8_i16(int16_t a) { return (int8_t)a; }
static inline int32_t mdh_to_i32_i16(int16_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_i16(int16_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_i16(int16_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_i16(int16_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_i16(int16_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_i16(int16_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_i16(int16_t a) { return (float)a; }
static inline double mdh_to_f64_i16(int16_t a) { return (double)a; }
static inline int32_t mdh_select_i32(uint8_t m, int32_t a, int32_t b) { return m ? a : b; }
static inline int32_t mdh_abs_i32(int32_t a) { return (int32_t)(a < 0 ? -a : a); }
static inline int32_t mdh_div_i32(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? (int32_t)-a : (int32_t)(a / b); }
static inline int32_t mdh_rem_i32(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : (int32_t)(a % b); }
static inline int32_t mdh_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t mdh_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_i32(int32_t a) { return a != 0; }
static inline int8_t mdh_to_i8_i32(int32_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_i32(int32_t a) { return (int16_t)a; }
static inline int64_t mdh_to_i64_i32(int32_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_i32(int32_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_i32(int32_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_i32(int32_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_i32(int32_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_i32(int32_t a) { return (float)a; }
static inline double mdh_to_f64_i32(int32_t a) { return (double)a; }
static inline int64_t mdh_select_i64(uint8_t m, int64_t a, int64_t b) { return m ? a : b; }
static inline int64_t mdh_abs_i64(int64_t a) { return (int64_t)(a < 0 ? -a : a); }
static inline int64_t mdh_div_i64(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? (int64_t)-a : (int64_t)(a / b); }
static inline int64_t mdh_rem_i64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : (int64_t)(a % b); }
static inline int64_t mdh_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t mdh_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_i64(int64_t a) { return a != 0; }
static inline int8_t mdh_to_i8_i64(int64_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_i64(int64_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_i64(int64_t a) { return (int32_t)a; }
static inline uint8_t mdh_to_u8_i64(int64_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_i64(int64_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_i64(int64_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_i64(int64_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_i64(int64_t a) { return (float)a; }
static inline double mdh_to_f64_i64(int64_t a) { return (double)a; }
static inline uint8_t mdh_select_u8(uint8_t m, uint8_t a, uint8_t b) { return m ? a : b; }
static inline uint8_t mdh_abs_u8(uint8_t a) { return a; }
static inline uint8_t mdh_div_u8(uint8_t a, uint8_t b) { return b == 0 ? 0 : (uint8_t)(a / b); }
static inline uint8_t mdh_rem_u8(uint8_t a, uint8_t b) { return b == 0 ? 0 : (uint8_t)(a % b); }
static inline uint8_t mdh_min_u8(uint8_t a, uint8_t b) { return a < b ? a : b; }
static inline uint8_t mdh_max_u8(uint8_t a, uint8_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_u8(uint8_t a) { return a != 0; }
static inline int8_t mdh_to_i8_u8(uint8_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_u8(uint8_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_u8(uint8_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_u8(uint8_t a) { return (int64_t)a; }
static inline uint16_t mdh_to_u16_u8(uint8_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_u8(uint8_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_u8(uint8_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_u8(uint8_t a) { return (float)a; }
static inline double mdh_to_f64_u8(uint8_t a) { return (double)a; }
static inline uint16_t mdh_select_u16(uint8_t m, uint16_t a, uint16_t b) { return m ? a : b; }
static inline uint16_t mdh_abs_u16(uint16_t a) { return a; }
static inline uint16_t mdh_div_u16(uint16_t a, uint16_t b) { return b == 0 ? 0 : (uint16_t)(a / b); }
static inline uint16_t mdh_rem_u16(uint16_t a, uint16_t b) { return b == 0 ? 0 : (uint16_t)(a % b); }
static inline uint16_t mdh_min_u16(uint16_t a, uint16_t b) { return a < b ? a : b; }
static inline uint16_t mdh_max_u16(uint16_t a, uint16_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_u16(uint16_t a) { return a != 0; }
static inline int8_t mdh_to_i8_u16(uint16_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_u16(uint16_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_u16(uint16_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_u16(uint16_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_u16(uint16_t a) { return (uint8_t)a; }
static inline uint32_t mdh_to_u32_u16(uint16_t a) { return (uint32_t)a; }
static inline uint64_t mdh_to_u64_u16(uint16_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_u16(uint16_t a) { return (float)a; }
static inline double mdh_to_f64_u16(uint16_t a) { return (double)a; }
static inline uint32_t mdh_select_u32(uint8_t m, uint32_t a, uint32_t b) { return m ? a : b; }
static inline uint32_t mdh_abs_u32(uint32_t a) { return a; }
static inline uint32_t mdh_div_u32(uint32_t a, uint32_t b) { return b == 0 ? 0 : (uint32_t)(a / b); }
static inline uint32_t mdh_rem_u32(uint32_t a, uint32_t b) { return b == 0 ? 0 : (uint32_t)(a % b); }
static inline uint32_t mdh_min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t mdh_max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_u32(uint32_t a) { return a != 0; }
static inline int8_t mdh_to_i8_u32(uint32_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_u32(uint32_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_u32(uint32_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_u32(uint32_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_u32(uint32_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_u32(uint32_t a) { return (uint16_t)a; }
static inline uint64_t mdh_to_u64_u32(uint32_t a) { return (uint64_t)a; }
static inline float mdh_to_f32_u32(uint32_t a) { return (float)a; }
static inline double mdh_to_f64_u32(uint32_t a) { return (double)a; }
static inline uint64_t mdh_select_u64(uint8_t m, uint64_t a, uint64_t b) { return m ? a : b; }
static inline uint64_t mdh_abs_u64(uint64_t a) { return a; }
static inline uint64_t mdh_div_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : (uint64_t)(a / b); }
static inline uint64_t mdh_rem_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : (uint64_t)(a % b); }
static inline uint64_t mdh_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t mdh_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint8_t mdh_to_b8_u64(uint64_t a) { return a != 0; }
static inline int8_t mdh_to_i8_u64(uint64_t a) { return (int8_t)a; }
static inline int16_t mdh_to_i16_u64(uint64_t a) { return (int16_t)a; }
static inline int32_t mdh_to_i32_u64(uint64_t a) { return (int32_t)a; }
static inline int64_t mdh_to_i64_u64(uint64_t a) { return (int64_t)a; }
static inline uint8_t mdh_to_u8_u64(uint64_t a) { return (uint8_t)a; }
static inline uint16_t mdh_to_u16_u64(uint64_t a) { return (uint16_t)a; }
static inline uint32_t mdh_to_u32_u64(uint64_t a) { return (uint32_t)a; }
static inline float mdh_to_f32_u64(uint64_t a) { return (float)a; }
static inline double mdh_to_f64_u64(uint64_t a) { return (double)a; }
static inline float mdh_select_f32(uint8_t m, float a, float b) { return m ? a : b; }
static inline float mdh_abs_f32(float a) { return fabsf(a); }
static inline float mdh_sqrt_f32(float a) { return sqrtf(a); }
static inline float mdh_rsqrt_f32(float a) { return 1 / sqrtf(a); }
static inline float mdh_exp_f32(float a) { return expf(a); }
static inline float mdh_log_f32(float a) { return logf(a); }
static inline float mdh_log2_f32(float a) { return log2f(a); }
static inline float mdh_tanh_f32(float a) { return tanhf(a); }
static inline float mdh_floor_f32(float a) { return floorf(a); }
static inline float mdh_ceil_f32(float a) { return ceilf(a); }
static inline float mdh_sin_f32(float a) { return sinf(a); }
static inline float mdh_cos_f32(float a) { return cosf(a); }
static inline float mdh_round_f32(float a) { return nearbyintf(a); }
static inline float mdh_trunc_f32(float a) { return truncf(a); }
static inline float mdh_erf_f32(float a) { return erff(a); }
static inline float mdh_exp2_f32(float a) { return exp2f(a); }
static inline float mdh_log1p_f32(float a) { return log1pf(a); }
static inline float mdh_expm1_f32(float a) { return expm1f(a); }
static inline float mdh_cbrt_f32(float a) { return cbrtf(a); }
static inline float mdh_rem_f32(float a, float b) { return fmodf(a, b); }
static inline float mdh_min_f32(float a, float b) { return a < b || (a == b && a != 0) ? a : a > b ? b : -(-a - b); }
static inline float mdh_max_f32(float a, float b) { return a > b || (a == b && a != 0) ? a : a < b ? b : a + b; }
static inline float mdh_pow_f32(float a, float b) { return powf(a, b); }
static inline float mdh_fmin_f32(float a, float b) { return a < b || b != b || (a == b && a != 0) ? a : a > b || a != a ? b : -(-a - b); }
static inline float mdh_fmax_f32(float a, float b) { return a > b || b != b || (a == b && a != 0) ? a : a < b || a != a ? b : a + b; }
static inline float mdh_atan2_f32(float a, float b) { return atan2f(a, b); }
static inline float mdh_copysign_f32(float a, float b) { return copysignf(a, b); }
static inline uint8_t mdh_to_b8_f32(float a) { return a != 0; }
static inline int8_t mdh_to_i8_f32(float a) { return a != a ? 0 : a <= -128.0 ? INT8_MIN : a >= 128.0 ? INT8_MAX : (int8_t)a; }
static inline int16_t mdh_to_i16_f32(float a) { return a != a ? 0 : a <= -32768.0 ? INT16_MIN : a >= 32768.0 ? INT16_MAX : (int16_t)a; }
static inline int32_t mdh_to_i32_f32(float a) { return a != a ? 0 : a <= -2147483648.0 ? INT32_MIN : a >= 2147483648.0 ? INT32_MAX : (int32_t)a; }
static inline int64_t mdh_to_i64_f32(float a) { return a != a ? 0 : a <= -9223372036854775808.0 ? INT64_MIN : a >= 9223372036854775808.0 ? INT64_MAX : (int64_t)a; }
static inline uint8_t mdh_to_u8_f32(float a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 256.0 ? UINT8_MAX : (uint8_t)a; }
static inline uint16_t mdh_to_u16_f32(float a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 65536.0 ? UINT16_MAX : (uint16_t)a; }
static inline uint32_t mdh_to_u32_f32(float a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 4294967296.0 ? UINT32_MAX : (uint32_t)a; }
static inline uint64_t mdh_to_u64_f32(float a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)a; }
static inline double mdh_to_f64_f32(float a) { return (double)a; }
static inline int32_t mdh_bits_float(float x) {
  int32_t r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline float mdh_real_float(int32_t x) {
  float r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline uint16_t mdh_to_h16_f32(float a) {
#if defined(__F16C__) && defined(__clang__)
  typedef __fp16 real_half;
  real_half h;
  h = (real_half)a;
  uint16_t r;
  memcpy(&r, &h, sizeof r);
  return r;
#elif defined(__F16C__)
  float f;
  uint16_t r;
  __asm__("vcvtps2ph $0, %1, %0" : "=x"(f) : "x"(a));
  memcpy(&r, &f, sizeof r);
  return r;
#else
  const int32_t b = mdh_bits_float(a), sign = (b >> 16) & 0x8000, m = b & 0x7fffffff;
  const int32_t small = mdh_bits_float(mdh_real_float(m) + 0.5f) - 0x3f000000;
  const int32_t normal = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;
  const int32_t is_nan = -(m > 0x7f800000), is_large = -(m >= 0x477ff000);
  const int32_t is_small = -(m < 0x38800000);
  int32_t r = (is_small & small) | (~is_small & normal);
  r = (is_large & 0x7c00) | (~is_large & r);
  r = (is_nan & 0x7e00) | (~is_nan & r);
  return (uint16_t)(sign | r);
#endif
}
static inline uint16_t mdh_to_bh16_f32(float a) {
  const int32_t b = mdh_bits_float(a), m = b & 0x7fffffff, odd = (b >> 16) & 1;
  const int32_t k = -(m > 0x7f800000);
  const int32_t r = (k & (b >> 16 | 0x40)) | (~k & ((b + 0x7fff + odd) >> 16));
  return (uint16_t)(r & 0xffff);
}
static inline uint8_t mdh_to_e4m3_f32(float a) {
  const int32_t b = mdh_bits_float(a), sign = (b >> 24) & 0x80, m = b & 0x7fffffff;
  const int32_t small = mdh_bits_float(mdh_real_float(m) + 16384.0f) - 0x46800000;
  const int32_t normal = (m - 0x3c000000 + 0x7ffff + ((m >> 20) & 1)) >> 20;
  const int32_t is_nan = -(m > 0x7f800000), is_large = -(m >= 0x43e80000);
  const int32_t is_small = -(m < 0x3c800000);
  int32_t r = (is_small & small) | (~is_small & normal);
  r = (is_large & 0x7e) | (~is_large & r);
  r = (is_nan & 0x7f) | (~is_nan & r);
  return (uint8_t)(sign | r);
}
static inline uint8_t mdh_to_e5m2_f32(float a) {
  const int32_t b = mdh_bits_float(a), sign = (b >> 24) & 0x80, m = b & 0x7fffffff;
  const int32_t small = mdh_bits_float(mdh_real_float(m) + 128.0f) - 0x43000000;
  const int32_t normal = (m - 0x38000000 + 0xfffff + ((m >> 21) & 1)) >> 21;
  const int32_t is_nan = -(m > 0x7f800000), is_large = -(m >= 0x47700000);
  const int32_t is_small = -(m < 0x38800000);
  int32_t r = (is_small & small) | (~is_small & normal);
  r = (is_large & 0x7b) | (~is_large & r);
  const int32_t is_infinite = -(m == 0x7f800000);
  r = (is_infinite & 0x7c) | (~is_infinite & r);
  r = (is_nan & 0x7e) | (~is_nan & r);
  return (uint8_t)(sign | r);
}
static inline double mdh_select_f64(uint8_t m, double a, double b) { return m ? a : b; }
static inline double mdh_abs_f64(double a) { return fabs(a); }
static inline double mdh_sqrt_f64(double a) { return sqrt(a); }
static inline double mdh_rsqrt_f64(double a) { return 1 / sqrt(a); }
static inline double mdh_exp_f64(double a) { return exp(a); }
static inline double mdh_log_f64(double a) { return log(a); }
static inline double mdh_log2_f64(double a) { return log2(a); }
static inline double mdh_tanh_f64(double a) { return tanh(a); }
static inline double mdh_floor_f64(double a) { return floor(a); }
static inline double mdh_ceil_f64(double a) { return ceil(a); }
static inline double mdh_sin_f64(double a) { return sin(a); }
static inline double mdh_cos_f64(double a) { return cos(a); }
static inline double mdh_round_f64(double a) { return nearbyint(a); }
static inline double mdh_trunc_f64(double a) { return trunc(a); }
static inline double mdh_erf_f64(double a) { return erf(a); }
static inline double mdh_exp2_f64(double a) { return exp2(a); }
static inline double mdh_log1p_f64(double a) { return log1p(a); }
static inline double mdh_expm1_f64(double a) { return expm1(a); }
static inline double mdh_cbrt_f64(double a) { return cbrt(a); }
static inline double mdh_rem_f64(double a, double b) { return fmod(a, b); }
static inline double mdh_min_f64(double a, double b) { return a < b || (a == b && a != 0) ? a : a > b ? b : -(-a - b); }
static inline double mdh_max_f64(double a, double b) { return a > b || (a == b && a != 0) ? a : a < b ? b : a + b; }
static inline double mdh_pow_f64(double a, double b) { return pow(a, b); }
static inline double mdh_fmin_f64(double a, double b) { return a < b || b != b || (a == b && a != 0) ? a : a > b || a != a ? b : -(-a - b); }
static inline double mdh_fmax_f64(double a, double b) { return a > b || b != b || (a == b && a != 0) ? a : a < b || a != a ? b : a + b; }
static inline double mdh_atan2_f64(double a, double b) { return atan2(a, b); }
static inline double mdh_copysign_f64(double a, double b) { return copysign(a, b); }
static inline uint8_t mdh_to_b8_f64(double a) { return a != 0; }
static inline int8_t mdh_to_i8_f64(double a) { return a != a ? 0 : a <= -128.0 ? INT8_MIN : a >= 128.0 ? INT8_MAX : (int8_t)a; }
static inline int16_t mdh_to_i16_f64(double a) { return a != a ? 0 : a <= -32768.0 ? INT16_MIN : a >= 32768.0 ? INT16_MAX : (int16_t)a; }
static inline int32_t mdh_to_i32_f64(double a) { return a != a ? 0 : a <= -2147483648.0 ? INT32_MIN : a >= 2147483648.0 ? INT32_MAX : (int32_t)a; }
static inline int64_t mdh_to_i64_f64(double a) { return a != a ? 0 : a <= -9223372036854775808.0 ? INT64_MIN : a >= 9223372036854775808.0 ? INT64_MAX : (int64_t)a; }
static inline uint8_t mdh_to_u8_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 256.0 ? UINT8_MAX : (uint8_t)a; }
static inline uint16_t mdh_to_u16_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 65536.0 ? UINT16_MAX : (uint16_t)a; }
static inline uint32_t mdh_to_u32_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 4294967296.0 ? UINT32_MAX : (uint32_t)a; }
static inline uint64_t mdh_to_u64_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)a; }
static inline float mdh_to_f32_f64(double a) { return (float)a; }
static inline float mdh_to_f32_h16(uint16_t a) {
#if defined(__F16C__) && defined(__clang__)
  typedef __fp16 real_half;
  real_half h;
  memcpy(&h, &a, sizeof h);
  return (float)h;
#elif defined(__F16C__)
  float r;
  __asm__("vmovd %1, %0\n\tvcvtph2ps %0, %0" : "=x"(r) : "r"((uint32_t)a));
  return r;
#else
  const int32_t h = (int32_t)(a), sign = (h & 0x8000) << 16, m = h & 0x7fff;
  const int32_t finite = mdh_bits_float(mdh_real_float(m << 13) * 0x1p112f), special = 0x7f800000 | (m & 0x3ff) << 13;
  const int32_t k = -(m >= 0x7c00);
  return mdh_real_float(sign | (k & special) | (~k & finite));
#endif
}
static inline float mdh_to_f32_bh16(uint16_t a) {
  return mdh_real_float((int32_t)(a) << 16);
}
static const float mdh_table1_values[256] = {0.0f, 0.001953125f, 0.00390625f, 0.005859375f, 0.0078125f, 0.009765625f, 0.01171875f, 0.013671875f, 0.015625f, 0.017578125f, 0.01953125f, 0.021484375f, 0.0234375f, 0.025390625f, 0.02734375f, 0.029296875f, 0.03125f, 0.03515625f, 0.0390625f, 0.04296875f, 0.046875f, 0.05078125f, 0.0546875f, 0.05859375f, 0.0625f, 0.0703125f, 0.078125f, 0.0859375f, 0.09375f, 0.1015625f, 0.109375f, 0.1171875f, 0.125f, 0.140625f, 0.15625f, 0.171875f, 0.1875f, 0.203125f, 0.21875f, 0.234375f, 0.25f, 0.28125f, 0.3125f, 0.34375f, 0.375f, 0.40625f, 0.4375f, 0.46875f, 0.5f, 0.5625f, 0.625f, 0.6875f, 0.75f, 0.8125f, 0.875f, 0.9375f, 1.0f, 1.125f, 1.25f, 1.375f, 1.5f, 1.625f, 1.75f, 1.875f, 2.0f, 2.25f, 2.5f, 2.75f, 3.0f, 3.25f, 3.5f, 3.75f, 4.0f, 4.5f, 5.0f, 5.5f, 6.0f, 6.5f, 7.0f, 7.5f, 8.0f, 9.0f, 10.0f, 11.0f, 12.0f, 13.0f, 14.0f, 15.0f, 16.0f, 18.0f, 20.0f, 22.0f, 24.0f, 26.0f, 28.0f, 30.0f, 32.0f, 36.0f, 40.0f, 44.0f, 48.0f, 52.0f, 56.0f, 60.0f, 64.0f, 72.0f, 80.0f, 88.0f, 96.0f, 104.0f, 112.0f, 120.0f, 128.0f, 144.0f, 160.0f, 176.0f, 192.0f, 208.0f, 224.0f, 240.0f, 256.0f, 288.0f, 320.0f, 352.0f, 384.0f, 416.0f, 448.0f, __builtin_nanf(""), -0.0f, -0.001953125f, -0.00390625f, -0.005859375f, -0.0078125f, -0.009765625f, -0.01171875f, -0.013671875f, -0.015625f, -0.017578125f, -0.01953125f, -0.021484375f, -0.0234375f, -0.025390625f, -0.02734375f, -0.029296875f, -0.03125f, -0.03515625f, -0.0390625f, -0.04296875f, -0.046875f, -0.05078125f, -0.0546875f, -0.05859375f, -0.0625f, -0.0703125f, -0.078125f, -0.0859375f, -0.09375f, -0.1015625f, -0.109375f, -0.1171875f, -0.125f, -0.140625f, -0.15625f, -0.171875f, -0.1875f, -0.203125f, -0.21875f, -0.234375f, -0.25f, -0.28125f, -0.3125f, -0.34375f, -0.375f, -0.40625f, -0.4375f, -0.46875f, -0.5f, -0.5625f, -0.625f, -0.6875f, -0.75f, -0.8125f, -0.875f, -0.9375f, -1.0f, -1.125f, -1.25f, -1.375f, -1.5f, -1.625f, -1.75f, -1.875f, -2.0f, -2.25f, -2.5f, -2.75f, -3.0f, -3.25f, -3.5f, -3.75f, -4.0f, -4.5f, -5.0f, -5.5f, -6.0f, -6.5f, -7.0f, -7.5f, -8.0f, -9.0f, -10.0f, -11.0f, -12.0f, -13.0f, -14.0f, -15.0f, -16.0f, -18.0f, -20.0f, -22.0f, -24.0f, -26.0f, -28.0f, -30.0f, -32.0f, -36.0f, -40.0f, -44.0f, -48.0f, -52.0f, -56.0f, -60.0f, -64.0f, -72.0f, -80.0f, -88.0f, -96.0f, -104.0f, -112.0f, -120.0f, -128.0f, -144.0f, -160.0f, -176.0f, -192.0f, -208.0f, -224.0f, -240.0f, -256.0f, -288.0f, -320.0f, -352.0f, -384.0f, -416.0f, -448.0f, __builtin_nanf("")};
static inline float mdh_table1_u8(uint8_t i) { return mdh_table1_values[i > 255 ? 255 : i]; }
static inline float mdh_to_f32_e4m3(uint8_t a) {
  return mdh_table1_u8(a);
}
static const float mdh_table2_values[256] = {0.0f, 1.52587891e-05f, 3.05175781e-05f, 4.57763672e-05f, 6.10351562e-05f, 7.62939453e-05f, 9.15527344e-05f, 0.000106811523f, 0.000122070312f, 0.000152587891f, 0.000183105469f, 0.000213623047f, 0.000244140625f, 0.000305175781f, 0.000366210938f, 0.000427246094f, 0.00048828125f, 0.000610351562f, 0.000732421875f, 0.000854492188f, 0.0009765625f, 0.00122070312f, 0.00146484375f, 0.00170898438f, 0.001953125f, 0.00244140625f, 0.0029296875f, 0.00341796875f, 0.00390625f, 0.0048828125f, 0.005859375f, 0.0068359375f, 0.0078125f, 0.009765625f, 0.01171875f, 0.013671875f, 0.015625f, 0.01953125f, 0.0234375f, 0.02734375f, 0.03125f, 0.0390625f, 0.046875f, 0.0546875f, 0.0625f, 0.078125f, 0.09375f, 0.109375f, 0.125f, 0.15625f, 0.1875f, 0.21875f, 0.25f, 0.3125f, 0.375f, 0.4375f, 0.5f, 0.625f, 0.75f, 0.875f, 1.0f, 1.25f, 1.5f, 1.75f, 2.0f, 2.5f, 3.0f, 3.5f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 10.0f, 12.0f, 14.0f, 16.0f, 20.0f, 24.0f, 28.0f, 32.0f, 40.0f, 48.0f, 56.0f, 64.0f, 80.0f, 96.0f, 112.0f, 128.0f, 160.0f, 192.0f, 224.0f, 256.0f, 320.0f, 384.0f, 448.0f, 512.0f, 640.0f, 768.0f, 896.0f, 1024.0f, 1280.0f, 1536.0f, 1792.0f, 2048.0f, 2560.0f, 3072.0f, 3584.0f, 4096.0f, 5120.0f, 6144.0f, 7168.0f, 8192.0f, 10240.0f, 12288.0f, 14336.0f, 16384.0f, 20480.0f, 24576.0f, 28672.0f, 32768.0f, 40960.0f, 49152.0f, 57344.0f, __builtin_inff(), __builtin_nanf(""), __builtin_nanf(""), __builtin_nanf(""), -0.0f, -1.52587891e-05f, -3.05175781e-05f, -4.57763672e-05f, -6.10351562e-05f, -7.62939453e-05f, -9.15527344e-05f, -0.000106811523f, -0.000122070312f, -0.000152587891f, -0.000183105469f, -0.000213623047f, -0.000244140625f, -0.000305175781f, -0.000366210938f, -0.000427246094f, -0.00048828125f, -0.000610351562f, -0.000732421875f, -0.000854492188f, -0.0009765625f, -0.00122070312f, -0.00146484375f, -0.00170898438f, -0.001953125f, -0.00244140625f, -0.0029296875f, -0.00341796875f, -0.00390625f, -0.0048828125f, -0.005859375f, -0.0068359375f, -0.0078125f, -0.009765625f, -0.01171875f, -0.013671875f, -0.015625f, -0.01953125f, -0.0234375f, -0.02734375f, -0.03125f, -0.0390625f, -0.046875f, -0.0546875f, -0.0625f, -0.078125f, -0.09375f, -0.109375f, -0.125f, -0.15625f, -0.1875f, -0.21875f, -0.25f, -0.3125f, -0.375f, -0.4375f, -0.5f, -0.625f, -0.75f, -0.875f, -1.0f, -1.25f, -1.5f, -1.75f, -2.0f, -2.5f, -3.0f, -3.5f, -4.0f, -5.0f, -6.0f, -7.0f, -8.0f, -10.0f, -12.0f, -14.0f, -16.0f, -20.0f, -24.0f, -28.0f, -32.0f, -40.0f, -48.0f, -56.0f, -64.0f, -80.0f, -96.0f, -112.0f, -128.0f, -160.0f, -192.0f, -224.0f, -256.0f, -320.0f, -384.0f, -448.0f, -512.0f, -640.0f, -768.0f, -896.0f, -1024.0f, -1280.0f, -1536.0f, -1792.0f, -2048.0f, -2560.0f, -3072.0f, -3584.0f, -4096.0f, -5120.0f, -6144.0f, -7168.0f, -8192.0f, -10240.0f, -12288.0f, -14336.0f, -16384.0f, -20480.0f, -24576.0f, -28672.0f, -32768.0f, -40960.0f, -49152.0f, -57344.0f, -__builtin_inff(), __builtin_nanf(""), __builtin_nanf(""), __builtin_nanf("")};
static inline float mdh_table2_u8(uint8_t i) { return mdh_table2_values[i > 255 ? 255 : i]; }
static inline float mdh_to_f32_e5m2(uint8_t a) {
  return mdh_table2_u8(a);
}

// ?: of bool
r0[i] = mdh_select_b8(m[i], a[i], b[i]);
// ! of bool
r1[i] = !a[i];
// && of bool
r2[i] = (a[i] & b[i]);
// || of bool
r3[i] = (a[i] | b[i]);
// == of bool
r4[i] = a[i] == b[i];
// != of bool
r5[i] = a[i] != b[i];
// < of bool
r6[i] = a[i] < b[i];
// <= of bool
r7[i] = a[i] <= b[i];
// > of bool
r8[i] = a[i] > b[i];
// >= of bool
r9[i] = a[i] >= b[i];
// bool to int8
r10[i] = mdh_to_i8_b8(a[i]);
// bool to int16
r11[i] = mdh_to_i16_b8(a[i]);
// bool to int32
r12[i] = mdh_to_i32_b8(a[i]);
// bool to int64
r13[i] = mdh_to_i64_b8(a[i]);
// bool to uint8
r14[i] = mdh_to_u8_b8(a[i]);
// bool to uint16
r15[i] = mdh_to_u16_b8(a[i]);
// bool to uint32
r16[i] = mdh_to_u32_b8(a[i]);
// bool to uint64
r17[i] = mdh_to_u64_b8(a[i]);
// bool to fp32
r18[i] = mdh_to_f32_b8(a[i]);
// bool to fp64
r19[i] = mdh_to_f64_b8(a[i]);

// ?: of int8
r0[i] = mdh_select_i8(m[i], a[i], b[i]);
// - of int8
r1[i] = (int8_t)(-a[i]);
// abs of int8
r2[i] = mdh_abs_i8(a[i]);
// + of int8
r3[i] = (int8_t)(a[i] + b[i]);
// - of int8
r4[i] = (int8_t)(a[i] - b[i]);
// * of int8
r5[i] = (int8_t)(a[i] * b[i]);
// / of int8
r6[i] = mdh_div_i8(a[i], b[i]);
// % of int8
r7[i] = mdh_rem_i8(a[i], b[i]);
// min of int8
r8[i] = mdh_min_i8(a[i], b[i]);
// max of int8
r9[i] = mdh_max_i8(a[i], b[i]);
// & of int8
r10[i] = (int8_t)((a[i] & b[i]));
// | of int8
r11[i] = (int8_t)((a[i] | b[i]));
// ^ of int8
r12[i] = (int8_t)((a[i] ^ b[i]));
// == of int8
r13[i] = a[i] == b[i];
// != of int8
r14[i] = a[i] != b[i];
// < of int8
r15[i] = a[i] < b[i];
// <= of int8
r16[i] = a[i] <= b[i];
// > of int8
r17[i] = a[i] > b[i];
// >= of int8
r18[i] = a[i] >= b[i];
// int8 to bool
r19[i] = mdh_to_b8_i8(a[i]);
// int8 to int16
r20[i] = mdh_to_i16_i8(a[i]);
// int8 to int32
r21[i] = mdh_to_i32_i8(a[i]);
// int8 to int64
r22[i] = mdh_to_i64_i8(a[i]);
// int8 to uint8
r23[i] = mdh_to_u8_i8(a[i]);
// int8 to uint16
r24[i] = mdh_to_u16_i8(a[i]);
// int8 to uint32
r25[i] = mdh_to_u32_i8(a[i]);
// int8 to uint64
r26[i] = mdh_to_u64_i8(a[i]);
// int8 to fp32
r27[i] = mdh_to_f32_i8(a[i]);
// int8 to fp64
r28[i] = mdh_to_f64_i8(a[i]);

// ?: of int16
r0[i] = mdh_select_i16(m[i], a[i], b[i]);
// - of int16
r1[i] = (int16_t)(-a[i]);
// abs of int16
r2[i] = mdh_abs_i16(a[i]);
// + of int16
r3[i] = (int16_t)(a[i] + b[i]);
// - of int16
r4[i] = (int16_t)(a[i] - b[i]);
// * of int16
r5[i] = (int16_t)(a[i] * b[i]);
// / of int16
r6[i] = mdh_div_i16(a[i], b[i]);
// % of int16
r7[i] = mdh_rem_i16(a[i], b[i]);
// min of int16
r8[i] = mdh_min_i16(a[i], b[i]);
// max of int16
r9[i] = mdh_max_i16(a[i], b[i]);
// & of int16
r10[i] = (int16_t)((a[i] & b[i]));
// | of int16
r11[i] = (int16_t)((a[i] | b[i]));
// ^ of int16
r12[i] = (int16_t)((a[i] ^ b[i]));
// == of int16
r13[i] = a[i] == b[i];
// != of int16
r14[i] = a[i] != b[i];
// < of int16
r15[i] = a[i] < b[i];
// <= of int16
r16[i] = a[i] <= b[i];
// > of int16
r17[i] = a[i] > b[i];
// >= of int16
r18[i] = a[i] >= b[i];
// int16 to bool
r19[i] = mdh_to_b8_i16(a[i]);
// int16 to int8
r20[i] = mdh_to_i8_i16(a[i]);
// int16 to int32
r21[i] = mdh_to_i32_i16(a[i]);
// int16 to int64
r22[i] = mdh_to_i64_i16(a[i]);
// int16 to uint8
r23[i] = mdh_to_u8_i16(a[i]);
// int16 to uint16
r24[i] = mdh_to_u16_i16(a[i]);
// int16 to uint32
r25[i] = mdh_to_u32_i16(a[i]);
// int16 to uint64
r26[i] = mdh_to_u64_i16(a[i]);
// int16 to fp32
r27[i] = mdh_to_f32_i16(a[i]);
// int16 to fp64
r28[i] = mdh_to_f64_i16(a[i]);

// ?: of int32
r0[i] = mdh_select_i32(m[i], a[i], b[i]);
// - of int32
r1[i] = -a[i];
// abs of int32
r2[i] = mdh_abs_i32(a[i]);
// + of int32
r3[i] = a[i] + b[i];
// - of int32
r4[i] = a[i] - b[i];
// * of int32
r5[i] = a[i] * b[i];
// / of int32
r6[i] = mdh_div_i32(a[i], b[i]);
// % of int32
r7[i] = mdh_rem_i32(a[i], b[i]);
// min of int32
r8[i] = mdh_min_i32(a[i], b[i]);
// max of int32
r9[i] = mdh_max_i32(a[i], b[i]);
// & of int32
r10[i] = (a[i] & b[i]);
// | of int32
r11[i] = (a[i] | b[i]);
// ^ of int32
r12[i] = (a[i] ^ b[i]);
// == of int32
r13[i] = a[i] == b[i];
// != of int32
r14[i] = a[i] != b[i];
// < of int32
r15[i] = a[i] < b[i];
// <= of int32
r16[i] = a[i] <= b[i];
// > of int32
r17[i] = a[i] > b[i];
// >= of int32
r18[i] = a[i] >= b[i];
// int32 to bool
r19[i] = mdh_to_b8_i32(a[i]);
// int32 to int8
r20[i] = mdh_to_i8_i32(a[i]);
// int32 to int16
r21[i] = mdh_to_i16_i32(a[i]);
// int32 to int64
r22[i] = mdh_to_i64_i32(a[i]);
// int32 to uint8
r23[i] = mdh_to_u8_i32(a[i]);
// int32 to uint16
r24[i] = mdh_to_u16_i32(a[i]);
// int32 to uint32
r25[i] = mdh_to_u32_i32(a[i]);
// int32 to uint64
r26[i] = mdh_to_u64_i32(a[i]);
// int32 to fp32
r27[i] = mdh_to_f32_i32(a[i]);
// int32 to fp64
r28[i] = mdh_to_f64_i32(a[i]);

// ?: of int64
r0[i] = mdh_select_i64(m[i], a[i], b[i]);
// - of int64
r1[i] = -a[i];
// abs of int64
r2[i] = mdh_abs_i64(a[i]);
// + of int64
r3[i] = a[i] + b[i];
// - of int64
r4[i] = a[i] - b[i];
// * of int64
r5[i] = a[i] * b[i];
// / of int64
r6[i] = mdh_div_i64(a[i], b[i]);
// % of int64
r7[i] = mdh_rem_i64(a[i], b[i]);
// min of int64
r8[i] = mdh_min_i64(a[i], b[i]);
// max of int64
r9[i] = mdh_max_i64(a[i], b[i]);
// & of int64
r10[i] = (a[i] & b[i]);
// | of int64
r11[i] = (a[i] | b[i]);
// ^ of int64
r12[i] = (a[i] ^ b[i]);
// == of int64
r13[i] = a[i] == b[i];
// != of int64
r14[i] = a[i] != b[i];
// < of int64
r15[i] = a[i] < b[i];
// <= of int64
r16[i] = a[i] <= b[i];
// > of int64
r17[i] = a[i] > b[i];
// >= of int64
r18[i] = a[i] >= b[i];
// int64 to bool
r19[i] = mdh_to_b8_i64(a[i]);
// int64 to int8
r20[i] = mdh_to_i8_i64(a[i]);
// int64 to int16
r21[i] = mdh_to_i16_i64(a[i]);
// int64 to int32
r22[i] = mdh_to_i32_i64(a[i]);
// int64 to uint8
r23[i] = mdh_to_u8_i64(a[i]);
// int64 to uint16
r24[i] = mdh_to_u16_i64(a[i]);
// int64 to uint32
r25[i] = mdh_to_u32_i64(a[i]);
// int64 to uint64
r26[i] = mdh_to_u64_i64(a[i]);
// int64 to fp32
r27[i] = mdh_to_f32_i64(a[i]);
// int64 to fp64
r28[i] = mdh_to_f64_i64(a[i]);

// ?: of uint8
r0[i] = mdh_select_u8(m[i], a[i], b[i]);
// - of uint8
r1[i] = (uint8_t)(-a[i]);
// abs of uint8
r2[i] = mdh_abs_u8(a[i]);
// + of uint8
r3[i] = (uint8_t)(a[i] + b[i]);
// - of uint8
r4[i] = (uint8_t)(a[i] - b[i]);
// * of uint8
r5[i] = (uint8_t)(a[i] * b[i]);
// / of uint8
r6[i] = mdh_div_u8(a[i], b[i]);
// % of uint8
r7[i] = mdh_rem_u8(a[i], b[i]);
// min of uint8
r8[i] = mdh_min_u8(a[i], b[i]);
// max of uint8
r9[i] = mdh_max_u8(a[i], b[i]);
// & of uint8
r10[i] = (uint8_t)((a[i] & b[i]));
// | of uint8
r11[i] = (uint8_t)((a[i] | b[i]));
// ^ of uint8
r12[i] = (uint8_t)((a[i] ^ b[i]));
// == of uint8
r13[i] = a[i] == b[i];
// != of uint8
r14[i] = a[i] != b[i];
// < of uint8
r15[i] = a[i] < b[i];
// <= of uint8
r16[i] = a[i] <= b[i];
// > of uint8
r17[i] = a[i] > b[i];
// >= of uint8
r18[i] = a[i] >= b[i];
// uint8 to bool
r19[i] = mdh_to_b8_u8(a[i]);
// uint8 to int8
r20[i] = mdh_to_i8_u8(a[i]);
// uint8 to int16
r21[i] = mdh_to_i16_u8(a[i]);
// uint8 to int32
r22[i] = mdh_to_i32_u8(a[i]);
// uint8 to int64
r23[i] = mdh_to_i64_u8(a[i]);
// uint8 to uint16
r24[i] = mdh_to_u16_u8(a[i]);
// uint8 to uint32
r25[i] = mdh_to_u32_u8(a[i]);
// uint8 to uint64
r26[i] = mdh_to_u64_u8(a[i]);
// uint8 to fp32
r27[i] = mdh_to_f32_u8(a[i]);
// uint8 to fp64
r28[i] = mdh_to_f64_u8(a[i]);

// ?: of uint16
r0[i] = mdh_select_u16(m[i], a[i], b[i]);
// - of uint16
r1[i] = (uint16_t)(-a[i]);
// abs of uint16
r2[i] = mdh_abs_u16(a[i]);
// + of uint16
r3[i] = (uint16_t)(a[i] + b[i]);
// - of uint16
r4[i] = (uint16_t)(a[i] - b[i]);
// * of uint16
r5[i] = (uint16_t)(a[i] * b[i]);
// / of uint16
r6[i] = mdh_div_u16(a[i], b[i]);
// % of uint16
r7[i] = mdh_rem_u16(a[i], b[i]);
// min of uint16
r8[i] = mdh_min_u16(a[i], b[i]);
// max of uint16
r9[i] = mdh_max_u16(a[i], b[i]);
// & of uint16
r10[i] = (uint16_t)((a[i] & b[i]));
// | of uint16
r11[i] = (uint16_t)((a[i] | b[i]));
// ^ of uint16
r12[i] = (uint16_t)((a[i] ^ b[i]));
// == of uint16
r13[i] = a[i] == b[i];
// != of uint16
r14[i] = a[i] != b[i];
// < of uint16
r15[i] = a[i] < b[i];
// <= of uint16
r16[i] = a[i] <= b[i];
// > of uint16
r17[i] = a[i] > b[i];
// >= of uint16
r18[i] = a[i] >= b[i];
// uint16 to bool
r19[i] = mdh_to_b8_u16(a[i]);
// uint16 to int8
r20[i] = mdh_to_i8_u16(a[i]);
// uint16 to int16
r21[i] = mdh_to_i16_u16(a[i]);
// uint16 to int32
r22[i] = mdh_to_i32_u16(a[i]);
// uint16 to int64
r23[i] = mdh_to_i64_u16(a[i]);
// uint16 to uint8
r24[i] = mdh_to_u8_u16(a[i]);
// uint16 to uint32
r25[i] = mdh_to_u32_u16(a[i]);
// uint16 to uint64
r26[i] = mdh_to_u64_u16(a[i]);
// uint16 to fp32
r27[i] = mdh_to_f32_u16(a[i]);
// uint16 to fp64
r28[i] = mdh_to_f64_u16(a[i]);

// ?: of uint32
r0[i] = mdh_select_u32(m[i], a[i], b[i]);
// - of uint32
r1[i] = -a[i];
// abs of uint32
r2[i] = mdh_abs_u32(a[i]);
// + of uint32
r3[i] = a[i] + b[i];
// - of uint32
r4[i] = a[i] - b[i];
// * of uint32
r5[i] = a[i] * b[i];
// / of uint32
r6[i] = mdh_div_u32(a[i], b[i]);
// % of uint32
r7[i] = mdh_rem_u32(a[i], b[i]);
// min of uint32
r8[i] = mdh_min_u32(a[i], b[i]);
// max of uint32
r9[i] = mdh_max_u32(a[i], b[i]);
// & of uint32
r10[i] = (a[i] & b[i]);
// | of uint32
r11[i] = (a[i] | b[i]);
// ^ of uint32
r12[i] = (a[i] ^ b[i]);
// == of uint32
r13[i] = a[i] == b[i];
// != of uint32
r14[i] = a[i] != b[i];
// < of uint32
r15[i] = a[i] < b[i];
// <= of uint32
r16[i] = a[i] <= b[i];
// > of uint32
r17[i] = a[i] > b[i];
// >= of uint32
r18[i] = a[i] >= b[i];
// uint32 to bool
r19[i] = mdh_to_b8_u32(a[i]);
// uint32 to int8
r20[i] = mdh_to_i8_u32(a[i]);
// uint32 to int16
r21[i] = mdh_to_i16_u32(a[i]);
// uint32 to int32
r22[i] = mdh_to_i32_u32(a[i]);
// uint32 to int64
r23[i] = mdh_to_i64_u32(a[i]);
// uint32 to uint8
r24[i] = mdh_to_u8_u32(a[i]);
// uint32 to uint16
r25[i] = mdh_to_u16_u32(a[i]);
// uint32 to uint64
r26[i] = mdh_to_u64_u32(a[i]);
// uint32 to fp32
r27[i] = mdh_to_f32_u32(a[i]);
// uint32 to fp64
r28[i] = mdh_to_f64_u32(a[i]);

// ?: of uint64
r0[i] = mdh_select_u64(m[i], a[i], b[i]);
// - of uint64
r1[i] = -a[i];
// abs of uint64
r2[i] = mdh_abs_u64(a[i]);
// + of uint64
r3[i] = a[i] + b[i];
// - of uint64
r4[i] = a[i] - b[i];
// * of uint64
r5[i] = a[i] * b[i];
// / of uint64
r6[i] = mdh_div_u64(a[i], b[i]);
// % of uint64
r7[i] = mdh_rem_u64(a[i], b[i]);
// min of uint64
r8[i] = mdh_min_u64(a[i], b[i]);
// max of uint64
r9[i] = mdh_max_u64(a[i], b[i]);
// & of uint64
r10[i] = (a[i] & b[i]);
// | of uint64
r11[i] = (a[i] | b[i]);
// ^ of uint64
r12[i] = (a[i] ^ b[i]);
// == of uint64
r13[i] = a[i] == b[i];
// != of uint64
r14[i] = a[i] != b[i];
// < of uint64
r15[i] = a[i] < b[i];
// <= of uint64
r16[i] = a[i] <= b[i];
// > of uint64
r17[i] = a[i] > b[i];
// >= of uint64
r18[i] = a[i] >= b[i];
// uint64 to bool
r19[i] = mdh_to_b8_u64(a[i]);
// uint64 to int8
r20[i] = mdh_to_i8_u64(a[i]);
// uint64 to int16
r21[i] = mdh_to_i16_u64(a[i]);
// uint64 to int32
r22[i] = mdh_to_i32_u64(a[i]);
// uint64 to int64
r23[i] = mdh_to_i64_u64(a[i]);
// uint64 to uint8
r24[i] = mdh_to_u8_u64(a[i]);
// uint64 to uint16
r25[i] = mdh_to_u16_u64(a[i]);
// uint64 to uint32
r26[i] = mdh_to_u32_u64(a[i]);
// uint64 to fp32
r27[i] = mdh_to_f32_u64(a[i]);
// uint64 to fp64
r28[i] = mdh_to_f64_u64(a[i]);

// ?: of fp32
r0[i] = mdh_select_f32(m[i], a[i], b[i]);
// - of fp32
r1[i] = -a[i];
// abs of fp32
r2[i] = mdh_abs_f32(a[i]);
// sqrt of fp32
r3[i] = mdh_sqrt_f32(a[i]);
// rsqrt of fp32
r4[i] = mdh_rsqrt_f32(a[i]);
// exp of fp32
r5[i] = mdh_exp_f32(a[i]);
// log of fp32
r6[i] = mdh_log_f32(a[i]);
// log2 of fp32
r7[i] = mdh_log2_f32(a[i]);
// tanh of fp32
r8[i] = mdh_tanh_f32(a[i]);
// floor of fp32
r9[i] = mdh_floor_f32(a[i]);
// ceil of fp32
r10[i] = mdh_ceil_f32(a[i]);
// sin of fp32
r11[i] = mdh_sin_f32(a[i]);
// cos of fp32
r12[i] = mdh_cos_f32(a[i]);
// round of fp32
r13[i] = mdh_round_f32(a[i]);
// trunc of fp32
r14[i] = mdh_trunc_f32(a[i]);
// erf of fp32
r15[i] = mdh_erf_f32(a[i]);
// exp2 of fp32
r16[i] = mdh_exp2_f32(a[i]);
// log1p of fp32
r17[i] = mdh_log1p_f32(a[i]);
// expm1 of fp32
r18[i] = mdh_expm1_f32(a[i]);
// cbrt of fp32
r19[i] = mdh_cbrt_f32(a[i]);
// + of fp32
r20[i] = a[i] + b[i];
// - of fp32
r21[i] = a[i] - b[i];
// * of fp32
r22[i] = a[i] * b[i];
// / of fp32
r23[i] = a[i] / b[i];
// % of fp32
r24[i] = mdh_rem_f32(a[i], b[i]);
// min of fp32
r25[i] = mdh_min_f32(a[i], b[i]);
// max of fp32
r26[i] = mdh_max_f32(a[i], b[i]);
// pow of fp32
r27[i] = mdh_pow_f32(a[i], b[i]);
// fmin of fp32
r28[i] = mdh_fmin_f32(a[i], b[i]);
// fmax of fp32
r29[i] = mdh_fmax_f32(a[i], b[i]);
// atan2 of fp32
r30[i] = mdh_atan2_f32(a[i], b[i]);
// copysign of fp32
r31[i] = mdh_copysign_f32(a[i], b[i]);
// == of fp32
r32[i] = a[i] == b[i];
// != of fp32
r33[i] = a[i] != b[i];
// < of fp32
r34[i] = a[i] < b[i];
// <= of fp32
r35[i] = a[i] <= b[i];
// > of fp32
r36[i] = a[i] > b[i];
// >= of fp32
r37[i] = a[i] >= b[i];
// fp32 to bool
r38[i] = mdh_to_b8_f32(a[i]);
// fp32 to int8
r39[i] = mdh_to_i8_f32(a[i]);
// fp32 to int16
r40[i] = mdh_to_i16_f32(a[i]);
// fp32 to int32
r41[i] = mdh_to_i32_f32(a[i]);
// fp32 to int64
r42[i] = mdh_to_i64_f32(a[i]);
// fp32 to uint8
r43[i] = mdh_to_u8_f32(a[i]);
// fp32 to uint16
r44[i] = mdh_to_u16_f32(a[i]);
// fp32 to uint32
r45[i] = mdh_to_u32_f32(a[i]);
// fp32 to uint64
r46[i] = mdh_to_u64_f32(a[i]);
// fp32 to fp64
r47[i] = mdh_to_f64_f32(a[i]);
// fp32 to fp16
r48[i] = mdh_to_h16_f32(a[i]);
// fp32 to bf16
r49[i] = mdh_to_bh16_f32(a[i]);
// fp32 to fp8e4m3
r50[i] = mdh_to_e4m3_f32(a[i]);
// fp32 to fp8e5m2
r51[i] = mdh_to_e5m2_f32(a[i]);

// ?: of fp64
r0[i] = mdh_select_f64(m[i], a[i], b[i]);
// - of fp64
r1[i] = -a[i];
// abs of fp64
r2[i] = mdh_abs_f64(a[i]);
// sqrt of fp64
r3[i] = mdh_sqrt_f64(a[i]);
// rsqrt of fp64
r4[i] = mdh_rsqrt_f64(a[i]);
// exp of fp64
r5[i] = mdh_exp_f64(a[i]);
// log of fp64
r6[i] = mdh_log_f64(a[i]);
// log2 of fp64
r7[i] = mdh_log2_f64(a[i]);
// tanh of fp64
r8[i] = mdh_tanh_f64(a[i]);
// floor of fp64
r9[i] = mdh_floor_f64(a[i]);
// ceil of fp64
r10[i] = mdh_ceil_f64(a[i]);
// sin of fp64
r11[i] = mdh_sin_f64(a[i]);
// cos of fp64
r12[i] = mdh_cos_f64(a[i]);
// round of fp64
r13[i] = mdh_round_f64(a[i]);
// trunc of fp64
r14[i] = mdh_trunc_f64(a[i]);
// erf of fp64
r15[i] = mdh_erf_f64(a[i]);
// exp2 of fp64
r16[i] = mdh_exp2_f64(a[i]);
// log1p of fp64
r17[i] = mdh_log1p_f64(a[i]);
// expm1 of fp64
r18[i] = mdh_expm1_f64(a[i]);
// cbrt of fp64
r19[i] = mdh_cbrt_f64(a[i]);
// + of fp64
r20[i] = a[i] + b[i];
// - of fp64
r21[i] = a[i] - b[i];
// * of fp64
r22[i] = a[i] * b[i];
// / of fp64
r23[i] = a[i] / b[i];
// % of fp64
r24[i] = mdh_rem_f64(a[i], b[i]);
// min of fp64
r25[i] = mdh_min_f64(a[i], b[i]);
// max of fp64
r26[i] = mdh_max_f64(a[i], b[i]);
// pow of fp64
r27[i] = mdh_pow_f64(a[i], b[i]);
// fmin of fp64
r28[i] = mdh_fmin_f64(a[i], b[i]);
// fmax of fp64
r29[i] = mdh_fmax_f64(a[i], b[i]);
// atan2 of fp64
r30[i] = mdh_atan2_f64(a[i], b[i]);
// copysign of fp64
r31[i] = mdh_copysign_f64(a[i], b[i]);
// == of fp64
r32[i] = a[i] == b[i];
// != of fp64
r33[i] = a[i] != b[i];
// < of fp64
r34[i] = a[i] < b[i];
// <= of fp64
r35[i] = a[i] <= b[i];
// > of fp64
r36[i] = a[i] > b[i];
// >= of fp64
r37[i] = a[i] >= b[i];
// fp64 to bool
r38[i] = mdh_to_b8_f64(a[i]);
// fp64 to int8
r39[i] = mdh_to_i8_f64(a[i]);
// fp64 to int16
r40[i] = mdh_to_i16_f64(a[i]);
// fp64 to int32
r41[i] = mdh_to_i32_f64(a[i]);
// fp64 to int64
r42[i] = mdh_to_i64_f64(a[i]);
// fp64 to uint8
r43[i] = mdh_to_u8_f64(a[i]);
// fp64 to uint16
r44[i] = mdh_to_u16_f64(a[i]);
// fp64 to uint32
r45[i] = mdh_to_u32_f64(a[i]);
// fp64 to uint64
r46[i] = mdh_to_u64_f64(a[i]);
// fp64 to fp32
r47[i] = mdh_to_f32_f64(a[i]);

// fp16 to fp32
r0[i] = mdh_to_f32_h16(a[i]);

// bf16 to fp32
r0[i] = mdh_to_f32_bh16(a[i]);

// fp8e4m3 to fp32
r0[i] = mdh_to_f32_e4m3(a[i]);

// fp8e5m2 to fp32
r0[i] = mdh_to_f32_e5m2(a[i]);
