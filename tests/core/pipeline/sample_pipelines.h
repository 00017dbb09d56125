// Pipelines that several tests use.
#pragma once

namespace mdh {

// A layer: a product of matrices, then a bias and an activation.
inline constexpr char kLayer[] =
    R"(layer<T = fp32 | M = 4, N = 5, K = 6> := pipeline(x, w, b) -> y {
  h = matmul<T | M, N, K>(x, w);
  y = activation<T | M, N>(h, b)
}

matmul<T | I, J, K> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = A * B }

activation<T | I, J> :=
  out_view<T>( y: (i,j) -> (i,j) ) o
  md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T>( x: (i,j) -> (i,j), b: (i,j) -> (j) )
where f(x, b) -> y { y = max(x + b, 0) }
)";

// The mean of every row is taken from it: both steps read the input.
inline constexpr char kCentred[] = R"(centred := pipeline(x) -> (y, m) {
  m = mean(x);
  y = minus(x, m);
}
mean :=
  out_view<fp32>( m: (i,j) -> (i) ) o
  md_hom<3,8>( f, (++, +) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) )
where f(x) -> m { m = x / 8 }
minus :=
  out_view<fp32>( y: (i,j) -> (i,j) ) o
  md_hom<3,8>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), m: (i,j) -> (i) )
where f(x, m) -> y { y = x - m }
)";

}  // namespace mdh
