/* The computation of these examples, in the text form of expressions. */
#ifndef MATMUL_H_
#define MATMUL_H_

static const char kMatMul[] =
    "matmul<T = fp32 | I, J, K> :=\n"
    "  out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
    "  md_hom<I,J,K>( f, (++, ++, +) ) o\n"
    "  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
    "where f(A, B) -> C { C = A * B }\n";

enum { kSize = 48 };

#endif /* MATMUL_H_ */
