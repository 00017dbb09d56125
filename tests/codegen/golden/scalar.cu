static __device__ inline unsigned char mdh_select_b8(unsigned char m, unsigned char a, unsigned char b) { return m ? a : b; }
static __device__ inline signed char mdh_to_i8_b8(unsigned char a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_b8(unsigned char a) { return (short)a; }
static __device__ inline int mdh_to_i32_b8(unsigned char a) { return (int)a; }
static __device__ inline long long mdh_to_i64_b8(unsigned char a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_b8(unsigned char a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_b8(unsigned char a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_b8(unsigned char a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_b8(unsigned char a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_b8(unsigned char a) { return (float)a; }
static __device__ inline double mdh_to_f64_b8(unsigned char a) { return (double)a; }
static __device__ inline signed char mdh_select_i8(unsigned char m, signed char a, signed char b) {
int x = a;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return m ? (signed char)x : b;}
static __device__ inline signed char mdh_abs_i8(signed char a) { return (signed char)(a < 0 ? -a : a); }
static __device__ inline signed char mdh_div_i8(signed char a, signed char b) {
int wide = a;
  asm("" : "+r"(wide));
  return b == 0 ? 0 : b == -1 ? (signed char)-wide : (signed char)(wide / b);}
static __device__ inline signed char mdh_rem_i8(signed char a, signed char b) {
int wide = a;
  asm("" : "+r"(wide));
  return b == 0 || b == -1 ? 0 : (signed char)(wide % b);}
static __device__ inline signed char mdh_min_i8(signed char a, signed char b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (signed char)min(x, y);}
static __device__ inline signed char mdh_max_i8(signed char a, signed char b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (signed char)max(x, y);}
static __device__ inline unsigned char mdh_to_b8_i8(signed char a) { return a != 0; }
static __device__ inline short mdh_to_i16_i8(signed char a) { return (short)a; }
static __device__ inline int mdh_to_i32_i8(signed char a) { return (int)a; }
static __device__ inline long long mdh_to_i64_i8(signed char a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_i8(signed char a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_i8(signed char a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_i8(signed char a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_i8(signed char a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_i8(signed char a) { return (float)a; }
static __device__ inline double mdh_to_f64_i8(signed char a) { return (double)a; }
static __device__ inline short mdh_select_i16(unsigned char m, short a, short b) {
int x = a;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return m ? (short)x : b;}
static __device__ inline short mdh_abs_i16(short a) { return (short)(a < 0 ? -a : a); }
static __device__ inline short mdh_div_i16(short a, short b) {
int wide = a;
  asm("" : "+r"(wide));
  return b == 0 ? 0 : b == -1 ? (short)-wide : (short)(wide / b);}
static __device__ inline short mdh_rem_i16(short a, short b) {
int wide = a;
  asm("" : "+r"(wide));
  return b == 0 || b == -1 ? 0 : (short)(wide % b);}
static __device__ inline short mdh_min_i16(short a, short b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (short)min(x, y);}
static __device__ inline short mdh_max_i16(short a, short b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (short)max(x, y);}
static __device__ inline unsigned char mdh_to_b8_i16(short a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_i16(short a) { return (signed char)a; }
static __device__ inline int mdh_to_i32_i16(short a) { return (int)a; }
static __device__ inline long long mdh_to_i64_i16(short a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_i16(short a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_i16(short a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_i16(short a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_i16(short a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_i16(short a) { return (float)a; }
static __device__ inline double mdh_to_f64_i16(short a) { return (double)a; }
static __device__ inline int mdh_select_i32(unsigned char m, int a, int b) {
int x = a;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return m ? (int)x : b;}
static __device__ inline int mdh_neg_i32(int a) { return (int)(0 - (unsigned int)a); }
static __device__ inline int mdh_abs_i32(int a) { return (int)(a < 0 ? 0 - (unsigned int)a : (unsigned int)a); }
static __device__ inline int mdh_add_i32(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }
static __device__ inline int mdh_sub_i32(int a, int b) { return (int)((unsigned int)a - (unsigned int)b); }
static __device__ inline int mdh_mul_i32(int a, int b) { return (int)((unsigned int)a * (unsigned int)b); }
static __device__ inline int mdh_div_i32(int a, int b) { return b == 0 ? 0 : b == -1 ? (int)(0 - (unsigned int)a) : (int)(a / b); }
static __device__ inline int mdh_rem_i32(int a, int b) { return b == 0 || b == -1 ? 0 : (int)(a % b); }
static __device__ inline int mdh_min_i32(int a, int b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (int)min(x, y);}
static __device__ inline int mdh_max_i32(int a, int b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (int)max(x, y);}
static __device__ inline unsigned char mdh_to_b8_i32(int a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_i32(int a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_i32(int a) { return (short)a; }
static __device__ inline long long mdh_to_i64_i32(int a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_i32(int a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_i32(int a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_i32(int a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_i32(int a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_i32(int a) { return (float)a; }
static __device__ inline double mdh_to_f64_i32(int a) { return (double)a; }
static __device__ inline long long mdh_select_i64(unsigned char m, long long a, long long b) { return m ? a : b; }
static __device__ inline long long mdh_neg_i64(long long a) { return (long long)(0 - (unsigned long long)a); }
static __device__ inline long long mdh_abs_i64(long long a) { return (long long)(a < 0 ? 0 - (unsigned long long)a : (unsigned long long)a); }
static __device__ inline long long mdh_add_i64(long long a, long long b) { return (long long)((unsigned long long)a + (unsigned long long)b); }
static __device__ inline long long mdh_sub_i64(long long a, long long b) { return (long long)((unsigned long long)a - (unsigned long long)b); }
static __device__ inline long long mdh_mul_i64(long long a, long long b) { return (long long)((unsigned long long)a * (unsigned long long)b); }
static __device__ inline long long mdh_div_i64(long long a, long long b) { return b == 0 ? 0 : b == -1 ? (long long)(0 - (unsigned long long)a) : (long long)(a / b); }
static __device__ inline long long mdh_rem_i64(long long a, long long b) { return b == 0 || b == -1 ? 0 : (long long)(a % b); }
static __device__ inline long long mdh_min_i64(long long a, long long b) { return a < b ? a : b; }
static __device__ inline long long mdh_max_i64(long long a, long long b) { return a > b ? a : b; }
static __device__ inline unsigned char mdh_to_b8_i64(long long a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_i64(long long a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_i64(long long a) { return (short)a; }
static __device__ inline int mdh_to_i32_i64(long long a) { return (int)a; }
static __device__ inline unsigned char mdh_to_u8_i64(long long a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_i64(long long a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_i64(long long a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_i64(long long a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_i64(long long a) { return (float)a; }
static __device__ inline double mdh_to_f64_i64(long long a) { return (double)a; }
static __device__ inline unsigned char mdh_select_u8(unsigned char m, unsigned char a, unsigned char b) {
int x = a;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return m ? (unsigned char)x : b;}
static __device__ inline unsigned char mdh_abs_u8(unsigned char a) { return a; }
static __device__ inline unsigned char mdh_div_u8(unsigned char a, unsigned char b) { return b == 0 ? 0 : (unsigned char)(a / b); }
static __device__ inline unsigned char mdh_rem_u8(unsigned char a, unsigned char b) { return b == 0 ? 0 : (unsigned char)(a % b); }
static __device__ inline unsigned char mdh_min_u8(unsigned char a, unsigned char b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (unsigned char)min(x, y);}
static __device__ inline unsigned char mdh_max_u8(unsigned char a, unsigned char b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (unsigned char)max(x, y);}
static __device__ inline unsigned char mdh_to_b8_u8(unsigned char a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_u8(unsigned char a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_u8(unsigned char a) { return (short)a; }
static __device__ inline int mdh_to_i32_u8(unsigned char a) { return (int)a; }
static __device__ inline long long mdh_to_i64_u8(unsigned char a) { return (long long)a; }
static __device__ inline unsigned short mdh_to_u16_u8(unsigned char a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_u8(unsigned char a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_u8(unsigned char a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_u8(unsigned char a) { return (float)a; }
static __device__ inline double mdh_to_f64_u8(unsigned char a) { return (double)a; }
static __device__ inline unsigned short mdh_select_u16(unsigned char m, unsigned short a, unsigned short b) {
int x = a;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return m ? (unsigned short)x : b;}
static __device__ inline unsigned short mdh_abs_u16(unsigned short a) { return a; }
static __device__ inline unsigned short mdh_mul_u16(unsigned short a, unsigned short b) { return (unsigned short)((unsigned int)a * (unsigned int)b); }
static __device__ inline unsigned short mdh_div_u16(unsigned short a, unsigned short b) { return b == 0 ? 0 : (unsigned short)(a / b); }
static __device__ inline unsigned short mdh_rem_u16(unsigned short a, unsigned short b) { return b == 0 ? 0 : (unsigned short)(a % b); }
static __device__ inline unsigned short mdh_min_u16(unsigned short a, unsigned short b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (unsigned short)min(x, y);}
static __device__ inline unsigned short mdh_max_u16(unsigned short a, unsigned short b) {
int x = a, y = b;
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(y));
  return (unsigned short)max(x, y);}
static __device__ inline unsigned char mdh_to_b8_u16(unsigned short a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_u16(unsigned short a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_u16(unsigned short a) { return (short)a; }
static __device__ inline int mdh_to_i32_u16(unsigned short a) { return (int)a; }
static __device__ inline long long mdh_to_i64_u16(unsigned short a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_u16(unsigned short a) { return (unsigned char)a; }
static __device__ inline unsigned int mdh_to_u32_u16(unsigned short a) { return (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_u16(unsigned short a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_u16(unsigned short a) { return (float)a; }
static __device__ inline double mdh_to_f64_u16(unsigned short a) { return (double)a; }
static __device__ inline unsigned int mdh_select_u32(unsigned char m, unsigned int a, unsigned int b) { return m ? a : b; }
static __device__ inline unsigned int mdh_abs_u32(unsigned int a) { return a; }
static __device__ inline unsigned int mdh_div_u32(unsigned int a, unsigned int b) { return b == 0 ? 0 : (unsigned int)(a / b); }
static __device__ inline unsigned int mdh_rem_u32(unsigned int a, unsigned int b) { return b == 0 ? 0 : (unsigned int)(a % b); }
static __device__ inline unsigned int mdh_min_u32(unsigned int a, unsigned int b) { return a < b ? a : b; }
static __device__ inline unsigned int mdh_max_u32(unsigned int a, unsigned int b) { return a > b ? a : b; }
static __device__ inline unsigned char mdh_to_b8_u32(unsigned int a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_u32(unsigned int a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_u32(unsigned int a) { return (short)a; }
static __device__ inline int mdh_to_i32_u32(unsigned int a) { return (int)a; }
static __device__ inline long long mdh_to_i64_u32(unsigned int a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_u32(unsigned int a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_u32(unsigned int a) { return (unsigned short)a; }
static __device__ inline unsigned long long mdh_to_u64_u32(unsigned int a) { return (unsigned long long)a; }
static __device__ inline float mdh_to_f32_u32(unsigned int a) { return (float)a; }
static __device__ inline double mdh_to_f64_u32(unsigned int a) { return (double)a; }
static __device__ inline unsigned long long mdh_select_u64(unsigned char m, unsigned long long a, unsigned long long b) { return m ? a : b; }
static __device__ inline unsigned long long mdh_abs_u64(unsigned long long a) { return a; }
static __device__ inline unsigned long long mdh_div_u64(unsigned long long a, unsigned long long b) { return b == 0 ? 0 : (unsigned long long)(a / b); }
static __device__ inline unsigned long long mdh_rem_u64(unsigned long long a, unsigned long long b) { return b == 0 ? 0 : (unsigned long long)(a % b); }
static __device__ inline unsigned long long mdh_min_u64(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static __device__ inline unsigned long long mdh_max_u64(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
static __device__ inline unsigned char mdh_to_b8_u64(unsigned long long a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_u64(unsigned long long a) { return (signed char)a; }
static __device__ inline short mdh_to_i16_u64(unsigned long long a) { return (short)a; }
static __device__ inline int mdh_to_i32_u64(unsigned long long a) { return (int)a; }
static __device__ inline long long mdh_to_i64_u64(unsigned long long a) { return (long long)a; }
static __device__ inline unsigned char mdh_to_u8_u64(unsigned long long a) { return (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_u64(unsigned long long a) { return (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_u64(unsigned long long a) { return (unsigned int)a; }
static __device__ inline float mdh_to_f32_u64(unsigned long long a) { return (float)a; }
static __device__ inline double mdh_to_f64_u64(unsigned long long a) { return (double)a; }
static __device__ inline float mdh_select_f32(unsigned char m, float a, float b) { return m ? a : b; }
static __device__ inline float mdh_abs_f32(float a) { return fabsf(a); }
static __device__ inline float mdh_sqrt_f32(float a) { return sqrtf(a); }
static __device__ inline float mdh_rsqrt_f32(float a) { return 1 / sqrtf(a); }
static __device__ inline float mdh_exp_f32(float a) { return expf(a); }
static __device__ inline float mdh_log_f32(float a) { return logf(a); }
static __device__ inline float mdh_log2_f32(float a) { return log2f(a); }
static __device__ inline float mdh_tanh_f32(float a) { return tanhf(a); }
static __device__ inline float mdh_floor_f32(float a) { return floorf(a); }
static __device__ inline float mdh_ceil_f32(float a) { return ceilf(a); }
static __device__ inline float mdh_sin_f32(float a) { return sinf(a); }
static __device__ inline float mdh_cos_f32(float a) { return cosf(a); }
static __device__ inline float mdh_round_f32(float a) { return rintf(a); }
static __device__ inline float mdh_trunc_f32(float a) { return truncf(a); }
static __device__ inline float mdh_erf_f32(float a) { return erff(a); }
static __device__ inline float mdh_exp2_f32(float a) { return exp2f(a); }
static __device__ inline float mdh_log1p_f32(float a) { return log1pf(a); }
static __device__ inline float mdh_expm1_f32(float a) { return expm1f(a); }
static __device__ inline float mdh_cbrt_f32(float a) { return cbrtf(a); }
static __device__ inline float mdh_rem_f32(float a, float b) { return fmodf(a, b); }
static __device__ inline float mdh_min_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a || b != b ? a + b : fminf(a, b);
#endif
}
static __device__ inline float mdh_max_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}
static __device__ inline float mdh_pow_f32(float a, float b) { return powf(a, b); }
static __device__ inline float mdh_fmin_f32(float a, float b) { return fminf(a, b); }
static __device__ inline float mdh_fmax_f32(float a, float b) { return fmaxf(a, b); }
static __device__ inline float mdh_atan2_f32(float a, float b) { return atan2f(a, b); }
static __device__ inline float mdh_copysign_f32(float a, float b) { return copysignf(a, b); }
static __device__ inline unsigned char mdh_to_b8_f32(float a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= -128.0f ? -128 : a >= 128.0f ? 127 : (signed char)a;
}
static __device__ inline short mdh_to_i16_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= -32768.0f ? -32768 : a >= 32768.0f ? 32767 : (short)a;
}
static __device__ inline int mdh_to_i32_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= -2147483648.0f ? (-2147483647 - 1) : a >= 2147483648.0f ? 2147483647 : (int)a;
}
static __device__ inline long long mdh_to_i64_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= -9223372036854775808.0f ? (-9223372036854775807LL - 1) : a >= 9223372036854775808.0f ? 9223372036854775807LL : (long long)a;
}
static __device__ inline unsigned char mdh_to_u8_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= 0.0f ? 0 : a >= 256.0f ? 255 : (unsigned char)a;
}
static __device__ inline unsigned short mdh_to_u16_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= 0.0f ? 0 : a >= 65536.0f ? 65535 : (unsigned short)a;
}
static __device__ inline unsigned int mdh_to_u32_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= 0.0f ? 0U : a >= 4294967296.0f ? 4294967295U : (unsigned int)a;
}
static __device__ inline unsigned long long mdh_to_u64_f32(float a) {
  unsigned int x = __float_as_uint(a);
  asm("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  a = __uint_as_float(x);
  return a != a ? 0 : a <= 0.0f ? 0ULL : a >= 18446744073709551616.0f ? 18446744073709551615ULL : (unsigned long long)a;
}
static __device__ inline double mdh_to_f64_f32(float a) { return (double)a; }
static __device__ inline unsigned short mdh_to_h16_f32(float a) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a));
  return r;
}
static __device__ inline unsigned short mdh_to_bh16_f32(float a) {
  const unsigned int b = __float_as_uint(a);
  const unsigned int rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;
  return (b & 0x7fffffff) > 0x7f800000 ? b >> 16 | 0x40 : rounded;
}
static __device__ inline unsigned char mdh_to_e4m3_f32(float a) {
  const unsigned int b = __float_as_uint(a), m = b & 0x7fffffff;
  const unsigned int small = __float_as_uint(__uint_as_float(m) + 16384.0f) - 0x46800000;
  const unsigned int normal = (m - 0x3c000000 + 0x7ffff + (m >> 20 & 1)) >> 20;
  const unsigned int finite = m < 0x3c800000 ? small : m < 0x43e80000 ? normal : 0x7e;
  return (b >> 24 & 0x80) | (m > 0x7f800000 ? 0x7f : finite);
}
static __device__ inline unsigned char mdh_to_e5m2_f32(float a) {
  const unsigned int b = __float_as_uint(a), m = b & 0x7fffffff;
  const unsigned int small = __float_as_uint(__uint_as_float(m) + 128.0f) - 0x43000000;
  const unsigned int normal = (m - 0x38000000 + 0xfffff + (m >> 21 & 1)) >> 21;
  const unsigned int finite = m < 0x38800000 ? small : m < 0x47700000 ? normal : 0x7b;
  return (b >> 24 & 0x80) | (m > 0x7f800000 ? 0x7e : m == 0x7f800000 ? 0x7c : finite);
}
static __device__ inline double mdh_select_f64(unsigned char m, double a, double b) { return m ? a : b; }
static __device__ inline double mdh_abs_f64(double a) { return fabs(a); }
static __device__ inline double mdh_sqrt_f64(double a) { return sqrt(a); }
static __device__ inline double mdh_rsqrt_f64(double a) { return 1 / sqrt(a); }
static __device__ inline double mdh_exp_f64(double a) { return exp(a); }
static __device__ inline double mdh_log_f64(double a) { return log(a); }
static __device__ inline double mdh_log2_f64(double a) { return log2(a); }
static __device__ inline double mdh_tanh_f64(double a) { return tanh(a); }
static __device__ inline double mdh_floor_f64(double a) { return floor(a); }
static __device__ inline double mdh_ceil_f64(double a) { return ceil(a); }
static __device__ inline double mdh_sin_f64(double a) { return sin(a); }
static __device__ inline double mdh_cos_f64(double a) { return cos(a); }
static __device__ inline double mdh_round_f64(double a) { return rint(a); }
static __device__ inline double mdh_trunc_f64(double a) { return trunc(a); }
static __device__ inline double mdh_erf_f64(double a) { return erf(a); }
static __device__ inline double mdh_exp2_f64(double a) { return exp2(a); }
static __device__ inline double mdh_log1p_f64(double a) { return log1p(a); }
static __device__ inline double mdh_expm1_f64(double a) { return expm1(a); }
static __device__ inline double mdh_cbrt_f64(double a) { return cbrt(a); }
static __device__ inline double mdh_rem_f64(double a, double b) { return fmod(a, b); }
static __device__ inline double mdh_min_f64(double a, double b) { return a != a || b != b ? a + b : fmin(a, b); }
static __device__ inline double mdh_max_f64(double a, double b) { return a != a || b != b ? a + b : fmax(a, b); }
static __device__ inline double mdh_pow_f64(double a, double b) { return pow(a, b); }
static __device__ inline double mdh_fmin_f64(double a, double b) { return fmin(a, b); }
static __device__ inline double mdh_fmax_f64(double a, double b) { return fmax(a, b); }
static __device__ inline double mdh_atan2_f64(double a, double b) { return atan2(a, b); }
static __device__ inline double mdh_copysign_f64(double a, double b) { return copysign(a, b); }
static __device__ inline unsigned char mdh_to_b8_f64(double a) { return a != 0; }
static __device__ inline signed char mdh_to_i8_f64(double a) { return a != a ? 0 : a <= -128.0 ? -128 : a >= 128.0 ? 127 : (signed char)a; }
static __device__ inline short mdh_to_i16_f64(double a) { return a != a ? 0 : a <= -32768.0 ? -32768 : a >= 32768.0 ? 32767 : (short)a; }
static __device__ inline int mdh_to_i32_f64(double a) { return a != a ? 0 : a <= -2147483648.0 ? (-2147483647 - 1) : a >= 2147483648.0 ? 2147483647 : (int)a; }
static __device__ inline long long mdh_to_i64_f64(double a) { return a != a ? 0 : a <= -9223372036854775808.0 ? (-9223372036854775807LL - 1) : a >= 9223372036854775808.0 ? 9223372036854775807LL : (long long)a; }
static __device__ inline unsigned char mdh_to_u8_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 256.0 ? 255 : (unsigned char)a; }
static __device__ inline unsigned short mdh_to_u16_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0 : a >= 65536.0 ? 65535 : (unsigned short)a; }
static __device__ inline unsigned int mdh_to_u32_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0U : a >= 4294967296.0 ? 4294967295U : (unsigned int)a; }
static __device__ inline unsigned long long mdh_to_u64_f64(double a) { return a != a ? 0 : a <= 0.0 ? 0ULL : a >= 18446744073709551616.0 ? 18446744073709551615ULL : (unsigned long long)a; }
static __device__ inline float mdh_to_f32_f64(double a) { return (float)a; }
static __device__ inline float mdh_to_f32_h16(unsigned short a) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a));
  return r;
}
static __device__ inline float mdh_to_f32_bh16(unsigned short a) {
  float r;
  asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"((unsigned short)0), "h"(a));
  return r;
}
static __device__ inline float mdh_to_f32_e4m3(unsigned char a) {
  return (a & 0x7f) == 0x7f ? (0.0f / 0.0f) : mdh_to_f32_h16((unsigned short)((a & 0x80) << 8 | (a & 0x7f) << 7)) * 256.0f;
}
static __device__ inline float mdh_to_f32_e5m2(unsigned char a) {
  return mdh_to_f32_h16((unsigned short)((a & 0x80) << 8 | (a & 0x7f) << 8));
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
r1[i] = (signed char)(-a[i]);
// abs of int8
r2[i] = mdh_abs_i8(a[i]);
// + of int8
r3[i] = (signed char)(a[i] + b[i]);
// - of int8
r4[i] = (signed char)(a[i] - b[i]);
// * of int8
r5[i] = (signed char)(a[i] * b[i]);
// / of int8
r6[i] = mdh_div_i8(a[i], b[i]);
// % of int8
r7[i] = mdh_rem_i8(a[i], b[i]);
// min of int8
r8[i] = mdh_min_i8(a[i], b[i]);
// max of int8
r9[i] = mdh_max_i8(a[i], b[i]);
// & of int8
r10[i] = (signed char)((a[i] & b[i]));
// | of int8
r11[i] = (signed char)((a[i] | b[i]));
// ^ of int8
r12[i] = (signed char)((a[i] ^ b[i]));
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
r1[i] = (short)(-a[i]);
// abs of int16
r2[i] = mdh_abs_i16(a[i]);
// + of int16
r3[i] = (short)(a[i] + b[i]);
// - of int16
r4[i] = (short)(a[i] - b[i]);
// * of int16
r5[i] = (short)(a[i] * b[i]);
// / of int16
r6[i] = mdh_div_i16(a[i], b[i]);
// % of int16
r7[i] = mdh_rem_i16(a[i], b[i]);
// min of int16
r8[i] = mdh_min_i16(a[i], b[i]);
// max of int16
r9[i] = mdh_max_i16(a[i], b[i]);
// & of int16
r10[i] = (short)((a[i] & b[i]));
// | of int16
r11[i] = (short)((a[i] | b[i]));
// ^ of int16
r12[i] = (short)((a[i] ^ b[i]));
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
r1[i] = mdh_neg_i32(a[i]);
// abs of int32
r2[i] = mdh_abs_i32(a[i]);
// + of int32
r3[i] = mdh_add_i32(a[i], b[i]);
// - of int32
r4[i] = mdh_sub_i32(a[i], b[i]);
// * of int32
r5[i] = mdh_mul_i32(a[i], b[i]);
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
r1[i] = mdh_neg_i64(a[i]);
// abs of int64
r2[i] = mdh_abs_i64(a[i]);
// + of int64
r3[i] = mdh_add_i64(a[i], b[i]);
// - of int64
r4[i] = mdh_sub_i64(a[i], b[i]);
// * of int64
r5[i] = mdh_mul_i64(a[i], b[i]);
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
r1[i] = (unsigned char)(-a[i]);
// abs of uint8
r2[i] = mdh_abs_u8(a[i]);
// + of uint8
r3[i] = (unsigned char)(a[i] + b[i]);
// - of uint8
r4[i] = (unsigned char)(a[i] - b[i]);
// * of uint8
r5[i] = (unsigned char)(a[i] * b[i]);
// / of uint8
r6[i] = mdh_div_u8(a[i], b[i]);
// % of uint8
r7[i] = mdh_rem_u8(a[i], b[i]);
// min of uint8
r8[i] = mdh_min_u8(a[i], b[i]);
// max of uint8
r9[i] = mdh_max_u8(a[i], b[i]);
// & of uint8
r10[i] = (unsigned char)((a[i] & b[i]));
// | of uint8
r11[i] = (unsigned char)((a[i] | b[i]));
// ^ of uint8
r12[i] = (unsigned char)((a[i] ^ b[i]));
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
r1[i] = (unsigned short)(-a[i]);
// abs of uint16
r2[i] = mdh_abs_u16(a[i]);
// + of uint16
r3[i] = (unsigned short)(a[i] + b[i]);
// - of uint16
r4[i] = (unsigned short)(a[i] - b[i]);
// * of uint16
r5[i] = mdh_mul_u16(a[i], b[i]);
// / of uint16
r6[i] = mdh_div_u16(a[i], b[i]);
// % of uint16
r7[i] = mdh_rem_u16(a[i], b[i]);
// min of uint16
r8[i] = mdh_min_u16(a[i], b[i]);
// max of uint16
r9[i] = mdh_max_u16(a[i], b[i]);
// & of uint16
r10[i] = (unsigned short)((a[i] & b[i]));
// | of uint16
r11[i] = (unsigned short)((a[i] | b[i]));
// ^ of uint16
r12[i] = (unsigned short)((a[i] ^ b[i]));
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
