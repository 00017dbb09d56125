// Pipelines whose steps have rows in common.
#pragma once

namespace mdh {

inline constexpr char kSoftMax[] =
    R"(soft_max<T = fp32 | M = 32, N = 64> := pipeline(x) -> y {
  m = row_max<T | M, N>(x);
  s = row_sum<T | M, N>(x, m);
  y = divide<T | M, N>(x, m, s)
}
row_max<T | I, J> := out_view<T>( m: (i,j) -> (i) ) o md_hom<I,J>( f, (++, max) ) o
  inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> m { m = x }
row_sum<T | I, J> := out_view<T>( s: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i) )
where f(x, m) -> s { s = exp(x - m) }
divide<T | I, J> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i), s: (i,j) -> (i) )
where f(x, m, s) -> y { y = exp(x - m) / s }
)";

inline constexpr char kLogSoftMax[] =
    R"(log_soft_max<T = fp32 | M = 32, N = 64> := pipeline(x) -> y {
  m = row_max<T | M, N>(x);
  s = row_sum<T | M, N>(x, m);
  y = minus<T | M, N>(x, m, s)
}
row_max<T | I, J> := out_view<T>( m: (i,j) -> (i) ) o md_hom<I,J>( f, (++, max) ) o
  inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> m { m = x }
row_sum<T | I, J> := out_view<T>( s: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i) )
where f(x, m) -> s { s = exp(x - m) }
minus<T | I, J> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i), s: (i,j) -> (i) )
where f(x, m, s) -> y { y = x - m - log(s) }
)";

// Mean, variance, and what is made of them with a scale and a shift for every column.
inline constexpr char kLayerNorm[] =
    R"(layer_norm<T = fp32 | M = 32, N = 64> := pipeline(x, g, b) -> y {
  m = mean<T | M, N>(x);
  v = variance<T | M, N>(x, m);
  y = scaled<T | M, N>(x, m, v, g, b)
}
mean<T | I, J> := out_view<T>( m: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> m { m = x / T(64) }
variance<T | I, J> := out_view<T>( v: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i) )
where f(x, m) -> v { v = (x - m) * (x - m) / T(64) }
scaled<T | I, J> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T,T,T,T>( x: (i,j) -> (i,j), m: (i,j) -> (i), v: (i,j) -> (i), g: (i,j) -> (j),
                       b: (i,j) -> (j) )
where f(x, m, v, g, b) -> y { y = (x - m) * rsqrt(v + T(0.00001)) * g + b }
)";

inline constexpr char kRmsNorm[] =
    R"(rms_norm<T = fp32 | M = 32, N = 64> := pipeline(x, g) -> y {
  q = squares<T | M, N>(x);
  y = scaled<T | M, N>(x, q, g)
}
squares<T | I, J> := out_view<T>( q: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T>( x: (i,j) -> (i,j) )
where f(x) -> q { q = x * x / T(64) }
scaled<T | I, J> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T,T>( x: (i,j) -> (i,j), q: (i,j) -> (i), g: (i,j) -> (j) )
where f(x, q, g) -> y { y = x * rsqrt(q + T(0.00001)) * g }
)";

// Causal: a query attends to the keys up to its own. Scores need not be in memory as a whole.
inline constexpr char kAttention[] =
    R"(attention<T = fp32 | B = 2, H = 3, I = 16, J = 16, E = 8> := pipeline(q, k, v) -> o {
  s = scores<T | B, H, I, J, E>(q, k);
  m = row_max<T | B, H, I, J>(s);
  p = weights<T | B, H, I, J>(s, m);
  l = row_sum<T | B, H, I, J>(p);
  o = output<T | B, H, I, E, J>(p, l, v)
}
scores<T | B, H, I, J, E> := out_view<T>( s: (b,h,i,j,e) -> (b,h,i,j) ) o
  md_hom<B,H,I,J,E>( f, (++, ++, ++, ++, +) ) o
  inp_view<T,T>( q: (b,h,i,j,e) -> (b,h,i,e), k: (b,h,i,j,e) -> (b,h,j,e) )
where f(q, k) -> s { s = q * k }
row_max<T | B, H, I, J> := out_view<T>( m: (b,h,i,j) -> (b,h,i) ) o
  md_hom<B,H,I,J>( f, (++, ++, ++, max) ) o
  inp_view<T>( s: (b,h,i,j) -> (b,h,i,j) )
where f(s) -> m { m = j <= i ? s : T(-1000000) }
weights<T | B, H, I, J> := out_view<T>( p: (b,h,i,j) -> (b,h,i,j) ) o
  md_hom<B,H,I,J>( f, (++, ++, ++, ++) ) o
  inp_view<T,T>( s: (b,h,i,j) -> (b,h,i,j), m: (b,h,i,j) -> (b,h,i) )
where f(s, m) -> p { p = j <= i ? exp(s - m) : T(0) }
row_sum<T | B, H, I, J> := out_view<T>( l: (b,h,i,j) -> (b,h,i) ) o
  md_hom<B,H,I,J>( f, (++, ++, ++, +) ) o
  inp_view<T>( p: (b,h,i,j) -> (b,h,i,j) )
where f(p) -> l { l = p }
output<T | B, H, I, E, J> := out_view<T>( o: (b,h,i,e,j) -> (b,h,i,e) ) o
  md_hom<B,H,I,E,J>( f, (++, ++, ++, ++, +) ) o
  inp_view<T,T,T>( p: (b,h,i,e,j) -> (b,h,i,j), l: (b,h,i,e,j) -> (b,h,i), v: (b,h,i,e,j) -> (b,h,j,e) )
where f(p, l, v) -> o { o = p / l * v }
)";

// TeML's interp: three contractions of every element with one matrix.
inline constexpr char kInterp[] =
    R"(interp<T = fp64 | E = 12, N = 4> := pipeline(a, u) -> w {
  v1 = along_k<T | E, N>(a, u);
  v2 = along_j<T | E, N>(a, v1);
  w = along_i<T | E, N>(a, v2)
}
along_k<T | E, N> := out_view<T>( v: (e,i,j,k,l) -> (e,i,j,k) ) o
  md_hom<E,N,N,N,N>( f, (++, ++, ++, ++, +) ) o
  inp_view<T,T>( a: (e,i,j,k,l) -> (k,l), u: (e,i,j,k,l) -> (e,i,j,l) )
where f(a, u) -> v { v = a * u }
along_j<T | E, N> := out_view<T>( v: (e,i,j,k,l) -> (e,i,j,k) ) o
  md_hom<E,N,N,N,N>( f, (++, ++, ++, ++, +) ) o
  inp_view<T,T>( a: (e,i,j,k,l) -> (j,l), u: (e,i,j,k,l) -> (e,i,l,k) )
where f(a, u) -> v { v = a * u }
along_i<T | E, N> := out_view<T>( v: (e,i,j,k,l) -> (e,i,j,k) ) o
  md_hom<E,N,N,N,N>( f, (++, ++, ++, ++, +) ) o
  inp_view<T,T>( a: (e,i,j,k,l) -> (i,l), u: (e,i,j,k,l) -> (e,l,j,k) )
where f(a, u) -> v { v = a * u }
)";

inline constexpr const char* kRowPipelines[] = {kSoftMax, kLogSoftMax, kLayerNorm,
                                                kRmsNorm, kAttention,  kInterp};

}  // namespace mdh
