"""Expressions for the tests: the shipped .mdh files, written in Python."""

import mdh
from mdh import (
    CC, PW, BasicType, Buffer, Record, Scalar, ScalarType, add, cc, combine_ops, constant, einsum,
    fp32, int32, int64, inp, inp_view, literal, md_hom, mul, out, out_view, ps, pw, pw_custom_func,
    scalar_function, scalar_plus, store, where,
)


def listing_5(T: ScalarType, I: int, K: int):
    """As in the paper, appendix A.4."""
    @mdh.mdh( out( w = Buffer[T, [I]] ),
              inp( M = Buffer[T, [I, K]], v = Buffer[T, [K]] ) )
    def mdh_matvec():
        def mul(out, inp):
            out['w'] = inp['M'] * inp['v']

        def scalar_plus(res, lhs, rhs):
            res['w'] = lhs['w'] + rhs['w']

        return (
            out_view[T]( w = [lambda i, k: (i)] ),
            md_hom[I, K]( mul, ( CC, PW(scalar_plus) ) ),
            inp_view[T, T]( M = [lambda i, k: (i, k)] ,
                            v = [lambda i, k: (k)] )
        )
    return mdh_matvec


def slides_named(T: BasicType, I: int, K: int):
    @mdh.mdh()
    def mdh_matvec():
        return (
            out_view[T]( w = [lambda i,k: (i)] ),
            md_hom[I,K]( mul, ( cc, pw(scalar_plus) ) ),
            inp_view[T,T]( M = [lambda i,k: (i,k)] ,
                           v = [lambda i,k: (k) ] )
        )
    return mdh_matvec


def slides_custom(T: BasicType, I: int, K: int):
    @mdh.mdh()
    def mdh_matvec():
        @scalar_function()
        def mul( out: Scalar[T], inp: Scalar[T,T] ):
            out['w'] = inp['M'] * inp['v']

        @pw_custom_func()
        def scalar_plus( res: Scalar[T],
                         lhs: Scalar[T], rhs: Scalar[T] ):
            res['w'] = lhs['w'] + rhs['w']

        return (
            out_view[T]( w = [lambda i,k: (i)] ),
            md_hom[I,K]( mul, ( cc, pw(scalar_plus) ) ),
            inp_view[T,T]( M = [lambda i,k: (i,k)] ,
                           v = [lambda i,k: (k) ] )
        )
    return mdh_matvec


def slides_loops(T: BasicType, I: int, K: int):
    @mdh.mdh( out( w = Buffer[T] ) ,
              inp( M = Buffer[T], v = Buffer[T] ) ,
              combine_ops( cc, pw(scalar_plus) ) )
    def mdh_matvec(w, M, v):
        for i in range(I):
            for k in range(K):
                w[i] = M[i, k] * v[k]
    return mdh_matvec


def matvec_with_plus_equals(T, I, K):
    @mdh.mdh(out(w=Buffer[T]), inp(M=Buffer[T], v=Buffer[T]))
    def matvec(w, M, v):
        """Reduced by +=."""
        for i in range(I):
            for k in range(K):
                w[i] += M[i][k] * v[k]
    return matvec


def matmul_loops(I, J, K):
    @mdh.mdh(out(C=Buffer[fp32]), inp(A=Buffer[fp32], B=Buffer[fp32]))
    def matmul(C, A, B):
        for i in range(I):
            for j in range(J):
                for k in range(K):
                    C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return matmul


def dense_dsl(T, I, J, K):
    """A matrix product, a bias, a rectifier and a residual."""
    @mdh.mdh(out(y=Buffer[T, [I, J]]),
             inp(x=Buffer[T, [I, K]], w=Buffer[T, [K, J]], bias=Buffer[T, [J]], skip=Buffer[T, [I, J]]))
    def dense():
        def f(out, inp):
            out['c'] = fp32(inp['x']) * fp32(inp['w'])

        def s(out, res, inp):
            out['y'] = T(mdh.max(res['c'] + fp32(inp['bias']), 0)) + inp['skip']

        return (
            out_view(y=[lambda i, j, k: (i, j)]),
            md_hom[I, J, K](f, (cc, cc, pw(add)),
                            store(s, bias=[lambda i, j, k: (j)], skip=[lambda i, j, k: (i, j)])),
            inp_view(x=[lambda i, j, k: (i, k)], w=[lambda i, j, k: (k, j)]),
        )
    return dense


def dense_loops(T, I, J, K):
    @mdh.mdh(out(y=Buffer[T]), inp(x=Buffer[T], w=Buffer[T], bias=Buffer[T], skip=Buffer[T]))
    def dense(y, x, w, bias, skip):
        for i in range(I):
            for j in range(J):
                c = 0
                for k in range(K):
                    c += fp32(x[i, k]) * fp32(w[k, j])
                y[i, j] = T(max(c + fp32(bias[j]), 0)) + skip[i, j]
    return dense


def dense_gelu(I, J, K):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32], w=Buffer[fp32], bias=Buffer[fp32]))
    def dense_gelu(y, x, w, bias):
        for i in range(I):
            for j in range(J):
                c = 0
                for k in range(K):
                    c += x[i, k] * w[k, j]
                z = c + bias[j]
                y[i, j] = 0.5 * z * (1 + mdh.erf(z * 0.7071067811865476))
    return dense_gelu


def conv_bn_relu(N, P, Q, K, R, S, C):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer(fp32, [N, P, Q, C], boundary=constant(0)), w=Buffer[fp32],
                                      scale=Buffer[fp32], shift=Buffer[fp32], skip=Buffer[fp32]))
    def conv_bn_relu(y, x, w, scale, shift, skip):
        for n in range(N):
            for p in range(P):
                for q in range(Q):
                    for k in range(K):
                        a = 0
                        for r in range(R):
                            for s in range(S):
                                for c in range(C):
                                    a += x[n, p + r - 1, q + s - 1, c] * w[k, r, s, c]
                        y[n, p, q, k] = max(a * scale[k] + shift[k] + skip[n, p, q, k], 0)
    return conv_bn_relu


def log_sum_exp(I, K):
    def combine(res, lhs, rhs):
        larger = mdh.max(lhs['m'], rhs['m'])
        res['m'] = larger
        res['s'] = (lhs['s'] * where(lhs['m'] == larger, 1, mdh.exp(lhs['m'] - larger))
                    + rhs['s'] * where(rhs['m'] == larger, 1, mdh.exp(rhs['m'] - larger)))

    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]),
             combine_ops(cc, pw(combine, identity=dict(m=float("-inf"), s=0))))
    def log_sum_exp(y, x):
        for i in range(I):
            for k in range(K):
                m = x[i, k]
                s = 1 if x[i, k] == x[i, k] else x[i, k]
            y[i] = m + mdh.log(s)
    return log_sum_exp


def conv2d(P, Q, R, S):
    @mdh.mdh()
    def conv2d():
        return (
            out_view[fp32](out=[lambda p, q, r, s: (p, q)]),
            md_hom[P, Q, R, S](mul, (cc, cc, pw(add), pw(add))),
            inp_view[fp32, fp32](image=[lambda p, q, r, s: (p + r, q + s)],
                                 filter=[lambda p, q, r, s: (r, s)]),
        )
    return conv2d


def mcc(N, P, Q, K, R, S, C, SH, SW):
    @mdh.mdh(out(out=Buffer[fp32]), inp(image=Buffer[fp32], filter=Buffer[fp32]))
    def mcc(out, image, filter):
        for n in range(N):
            for p in range(P):
                for q in range(Q):
                    for k in range(K):
                        for r in range(R):
                            for s in range(S):
                                for c in range(C):
                                    row = SH * p + r
                                    out[n, p, q, k] += (
                                        image[n, row, SW * q + s, c] * filter[k, r, s, c])
    return mcc


def jacobi1d_dsl(I):
    @mdh.mdh()
    def jacobi1d():
        def f(out, inp):
            x = inp['x']
            out['y'] = (x[0] + x[1] + x[2]) * (literal(1.0) / 3.0)

        return (
            out_view[fp32](y=[lambda i: (i)]),
            md_hom[I](f, (cc)),
            inp_view[fp32](x=[lambda i: (i), lambda i: (i + 1), lambda i: (i + 2)]),
        )
    return jacobi1d


def jacobi1d_loops(I):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def jacobi1d(y, x):
        for i in range(I):
            y[i] = (x[i] + x[i + 1] + x[i + 2]) * (1.0 / 3.0)
    return jacobi1d


def sum_and_max(I, K):
    @mdh.mdh()
    def sum_and_max():
        def f(out, inp):
            out['sum'] = inp['M']
            out['largest'] = inp['M']

        @pw_custom_func(identity=(0, float('-inf')))
        def combine(res, lhs, rhs):
            res['sum'] = lhs['sum'] + rhs['sum']
            res['largest'] = mdh.max(lhs['largest'], rhs['largest'])

        return (
            out_view[fp32, fp32](sum=[lambda i, k: (i)], largest=[lambda i, k: (i)]),
            md_hom[I, K](f, (cc, pw(combine))),
            inp_view[fp32](M=[lambda i, k: (i, k)]),
        )
    return sum_and_max


def argmax(I, K):
    @mdh.mdh()
    def argmax():
        def f(out, inp, index):
            out['value'] = inp['M']
            out['position'] = index.k

        def larger(res, lhs, rhs):
            v1, v2 = lhs['value'], rhs['value']
            p1, p2 = lhs['position'], rhs['position']
            first_is_nan = (v1 != v1) & ((v2 == v2) | (p1 < p2))
            takes_first = (v1 > v2) | ((v1 == v2) & (p1 < p2)) | first_is_nan
            res['value'] = where(takes_first, v1, v2)
            res['position'] = where(takes_first, p1, p2)

        return (
            out_view[fp32, int64](value=[lambda i, k: (i)], position=[lambda i, k: (i)]),
            md_hom[I, K](f, (cc, pw(larger))),
            inp_view[fp32](M=[lambda i, k: (i, k)]),
        )
    return argmax


def dot(K):
    @mdh.mdh(out(s=Buffer[fp32]), inp(x=Buffer[fp32], y=Buffer[fp32]))
    def dot(s, x, y):
        for k in range(K):
            s += x[k] * y[k]
    return dot


Match = Record(id=int64, weight=fp32)


def heaviest(N, K):
    """Records: the heaviest entry of every row."""
    @mdh.mdh()
    def heaviest():
        def f(out, inp):
            out['best'] = Match(inp['entries'].id, inp['entries'].weight)

        @pw_custom_func(identity={'best': {'id': -1, 'weight': float('-inf')}})
        def heavier(res, lhs, rhs):
            a, b = lhs['best'], rhs['best']
            first = (a.weight > b.weight) | ((a.weight == b.weight) & (a.id > b.id))
            res['best'] = where(first, a, b)

        return (
            out_view[Match](best=[lambda n, k: (n)]),
            md_hom[N, K](f, (cc, pw(heavier))),
            inp_view[Match](entries=[lambda n, k: (n, k)]),
        )
    return heaviest


def scan(N):
    @mdh.mdh()
    def scan():
        return (
            out_view[int32](y=[lambda i: (i)]),
            md_hom[N](mul, ps(add)),
            inp_view[int32](x=[lambda i: (i)]),
        )
    return scan


def padded_row_weights(I, J):
    """Boundary, layout, an index variable and a type of accumulation."""
    @mdh.mdh(out(y=Buffer[mdh.fp16, [I]]),
             inp(x=Buffer(mdh.fp16, [I, J], boundary=constant(0), layout=[1, 0])))
    def row_weights():
        def f(out, inp, index):
            out['y'] = (fp32(inp['x'][0]) + fp32(inp['x'][1])) * fp32(index.j + 1)

        return (
            out_view[mdh.fp16](y=[lambda i, j: (i)]),
            md_hom[I, J](f, (cc, pw(add))),
            inp_view[mdh.fp16](x=[lambda i, j: (i - 1, j), lambda i, j: (i, j)]),
        )
    return row_weights


def matmul_einsum(I, J, K):
    return einsum("ik,kj->ij", i=I, j=J, k=K)
