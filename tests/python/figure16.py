"""More shipped .mdh files in Python: the groups of the paper's Figure 16, and beyond."""

import math

import mdh
from mdh import (
    Buffer, Record, add, bf16, cc, clamp, combine_ops, constant, einsum, fp16, fp32, fp64, inp,
    inp_view, int32, literal, max, md_hom, mul, out, out_view, ps, pw, pw_custom_func, rsqrt, where,
)

INF = float("inf")


def blur(I, J):
    @mdh.mdh(inp(image=Buffer[fp32, [I, J], clamp]))
    def blur():
        def f(out, inp):
            x = inp['image']
            out['out'] = (x[0] + x[2] + x[6] + x[8] + 2 * (x[1] + x[3] + x[5] + x[7])
                          + 4 * x[4]) * 0.0625

        around = [lambda i, j, di=di, dj=dj: (i + di, j + dj)
                  for di in (-1, 0, 1) for dj in (-1, 0, 1)]
        return (
            out_view[fp32](out=[lambda i, j: (i, j)]),
            md_hom[I, J](f, (cc, cc)),
            inp_view(image=around),
        )
    return blur


def conv2d_padded(P, Q, R, S):
    @mdh.mdh(out(out=Buffer[fp32]),
             inp(image=Buffer[fp32, [P, Q], constant(0)], filter=Buffer[fp32]))
    def conv2d_padded(out, image, filter):
        for p in range(P):
            for q in range(Q):
                for r in range(R):
                    for s in range(S):
                        out[p, q] += image[p + r - R // 2, q + s - S // 2] * filter[r, s]
    return conv2d_padded


def depthwise(N, P, Q, C, R, S):
    @mdh.mdh(out(out=Buffer[fp32]), inp(image=Buffer[fp32], filter=Buffer[fp32]))
    def depthwise(out, image, filter):
        for n in range(N):
            for p in range(P):
                for q in range(Q):
                    for c in range(C):
                        for r in range(R):
                            for s in range(S):
                                out[n, p, q, c] += image[n, p + r, q + s, c] * filter[r, s, c]
    return depthwise


def dot_bf16(K):
    @mdh.mdh(out(s=Buffer[fp32]), inp(x=Buffer[bf16], y=Buffer[bf16]))
    def dot_bf16(s, x, y):
        for k in range(K):
            s += fp32(x[k]) * fp32(y[k])
    return dot_bf16


def matmul_fp16(I, J, K):
    @mdh.mdh()
    def matmul_fp16():
        return (
            out_view[fp16](C=[lambda i, j, k: (i, j)]),
            md_hom[I, J, K](mul, (cc, cc, pw(add)), accumulate={'C': fp32}),
            inp_view[fp16, fp16](A=[lambda i, j, k: (i, k)], B=[lambda i, j, k: (k, j)]),
        )
    return matmul_fp16


Element = Record(bin=int32, value=fp32)


def gen_histo(E, B):
    @mdh.mdh(out(largest=Buffer[fp32]), inp(elements=Buffer[Element], bins=Buffer[int32]))
    def gen_histo(largest, elements, bins):
        for e in range(E):
            for b in range(B):
                largest[b] = max(largest[b],
                                 elements[e].value if elements[e].bin == bins[b] else -math.inf)
    return gen_histo


def histo(E, B):
    @mdh.mdh(out(counts=Buffer[int32]), inp(elements=Buffer[int32], bins=Buffer[int32]))
    def histo(counts, elements, bins):
        for e in range(E):
            for b in range(B):
                counts[b] += 1 if elements[e] == bins[b] else 0
    return histo


def gram(I, K):
    @mdh.mdh()
    def gram():
        return (
            out_view[fp32](G=[lambda i, j, k: (i, j)]),
            md_hom[I, I, K](mul, (cc, cc, pw(add))),
            inp_view[fp32](X=[lambda i, j, k: (k, i), lambda i, j, k: (k, j)]),
        )
    return gram


def jacobi2d(I1, I2):
    @mdh.mdh(out(out=Buffer[fp32]), inp(x=Buffer[fp32]))
    def jacobi2d(out, x):
        for i in range(I1):
            for j in range(I2):
                out[i, j] = (x[i + 1, j] + x[i + 1, j + 2] + x[i, j + 1] + x[i + 2, j + 1]
                             + x[i + 1, j + 1]) * (1.0 / 5.0)
    return jacobi2d


Step = Record(a=fp64, b=fp64)


def linear_recurrence(I):
    @mdh.mdh()
    def linear_recurrence():
        def f(out, inp):
            out['composed'] = inp['steps']

        @pw_custom_func(identity={'composed': Step(a=1, b=0)})
        def compose(res, lhs, rhs):
            first, second = lhs['composed'], rhs['composed']
            res['composed'].a = second.a * first.a
            res['composed'].b = second.a * first.b + second.b

        return (
            out_view[Step](composed=[lambda i: (i)]),
            md_hom[I](f, (ps(compose))),
            inp_view[Step](steps=[lambda i: (i)]),
        )
    return linear_recurrence


def mandelbrot(H, W):
    @mdh.mdh()
    def mandelbrot():
        def f(out, inp, index):
            cx = 3 * fp64(index.x) / W - 2
            cy = 2 * fp64(index.y) / H - 1
            x, y = cx, cy
            count = None
            for _ in range(10):
                xx, yy = x * x, y * y
                inside = where(xx + yy <= 4, int32(1), 0)
                count = inside if count is None else count + inside
                x, y = xx - yy + cx, 2 * x * y + cy
            out['iterations'] = count

        return (
            out_view[int32](iterations=[lambda y, x: (y, x)]),
            md_hom[H, W](f, (cc, cc)),
            inp_view(),
        )
    return mandelbrot


def map_(I):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def map_(y, x):
        for i in range(I):
            y[i] = x[i] / (1 + abs(x[i]))
    return map_


def mbbs(I, J):
    @mdh.mdh(out(sums=Buffer[fp32]), inp(A=Buffer[fp32]), combine_ops(ps(add), pw(add)))
    def mbbs(sums, A):
        for i in range(I):
            for j in range(J):
                sums[i] = A[i, j]
    return mbbs


def mttkrp(I, J, K, L):
    @mdh.mdh(out(A=Buffer[fp64]), inp(B=Buffer[fp64], C=Buffer[fp64], D=Buffer[fp64]))
    def mttkrp(A, B, C, D):
        for i in range(I):
            for j in range(J):
                for k in range(K):
                    for l in range(L):
                        A[i, j] += B[i, k, l] * D[l, j] * C[k, j]
    return mttkrp


def sddmm(I, J, K):
    @mdh.mdh(out(P=Buffer[fp64]), inp(S=Buffer[fp64], A=Buffer[fp64], B=Buffer[fp64]))
    def sddmm(P, S, A, B):
        for i in range(I):
            for j in range(J):
                for k in range(K):
                    P[i, j] += S[i, j] * (A[i, k] * B[k, j])
    return sddmm


Body = Record(x=fp32, y=fp32, z=fp32, mass=fp32)
Force = Record(x=fp32, y=fp32, z=fp32)


def nbody(N):
    @mdh.mdh(out(forces=Buffer[Force]), inp(bodies=Buffer[Body]))
    def nbody(forces, bodies):
        for i in range(N):
            for j in range(N):
                a = bodies[i]
                b = bodies[j]
                dx = b.x - a.x
                dy = b.y - a.y
                dz = b.z - a.z
                inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01)
                scale = b.mass * inverse * inverse * inverse
                forces[i].x += scale * dx
                forces[i].y += scale * dy
                forces[i].z += scale * dz
    return nbody


def nbody_dsl(N):
    @mdh.mdh()
    def nbody():
        def f(out, inp):
            a, b = inp['bodies'][0], inp['bodies'][1]
            dx, dy, dz = b.x - a.x, b.y - a.y, b.z - a.z
            inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01)
            scale = b.mass * inverse * inverse * inverse
            out['forces'] = Force(scale * dx, scale * dy, scale * dz)

        return (
            out_view[Force](forces=[lambda i, j: (i)]),
            md_hom[N, N](f, (cc, pw(add))),
            inp_view[Body](bodies=[lambda i, j: (i), lambda i, j: (j)]),
        )
    return nbody


def reduce_(I):
    @mdh.mdh(out(sum=Buffer[fp32]), inp(x=Buffer[fp32]))
    def reduce_(sum, x):
        for i in range(I):
            sum += x[i]
    return reduce_


def reduce2(I):
    @mdh.mdh(out(sum=Buffer[fp32], largest=Buffer[fp32]), inp(x=Buffer[fp32]))
    def reduce2(sum, largest, x):
        for i in range(I):
            sum += x[i]
            largest = max(largest, x[i])
    return reduce2


def scan(I):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]), combine_ops(ps(add)))
    def scan(y, x):
        for i in range(I):
            y[i] = x[i]
    return scan


def softmax_stats(I, K):
    @mdh.mdh()
    def softmax_stats():
        def f(out, inp):
            out['maximum'] = inp['X']
            out['sum'] = where(inp['X'] == inp['X'], 1, inp['X'])

        @pw_custom_func(identity=(-INF, 0))
        def combine(res, lhs, rhs):
            m1, m2 = lhs['maximum'], rhs['maximum']
            larger = max(m1, m2)
            res['maximum'] = larger
            res['sum'] = (lhs['sum'] * where(m1 == larger, 1, mdh.exp(m1 - larger))
                          + rhs['sum'] * where(m2 == larger, 1, mdh.exp(m2 - larger)))

        return (
            out_view[fp32, fp32](maximum=[lambda i, k: (i)], sum=[lambda i, k: (i)]),
            md_hom[I, K](f, (cc, pw(combine))),
            inp_view[fp32](X=[lambda i, k: (i, k)]),
        )
    return softmax_stats


_FIELDS = ("surname1 surname2 surname3 forename1 forename2 forename3 birthname1 birthname2 "
           "birthname3 day month year gender municipality").split()
Person = Record(**{name: int32 for name in _FIELDS})
Match = Record(j=int32, weight=fp64, status=int32)
_WEIGHTS = {  # of a field that agrees, and of one that differs
    "name": (6.60733031374961, -5.307428525192246), "day": (4.93969674069176, -6.596550474996366),
    "month": (3.570462931026041, -6.518325307690865),
    "year": (6.6293566200796095, -6.629356620079609),
    "gender": (0.9985565831303312, -8.965784284662085),
    "municipality": (9.813781191217037, -3.320484678017694),
}


def _linkage(a, b, j):
    """The weight of a pair; a and b are dicts of fields."""
    same = {name: (a[name] != -1) & (a[name] == b[name]) for name in _FIELDS}
    date = same["day"] & same["month"] & same["year"]
    in_one_block = (same["surname1"] & same["forename1"] & (date | same["municipality"])
                    | same["birthname1"] & date)
    total = None
    for name in _FIELDS:
        agrees, differs = _WEIGHTS[name if name in _WEIGHTS else "name"]
        is_missing = (a[name] == -1) | (b[name] == -1)
        weight = where(same[name], fp64(agrees), where(is_missing, 0, fp64(differs)))
        total = weight if total is None else total + weight
    weight = where(in_one_block, total, 0)
    status = where(weight > 45, 2, where(weight > 15, literal(1), 0))
    return Match(int32(j), weight, status)


@pw_custom_func(identity={'matches': dict(j=2147483647, weight=-INF, status=0)})
def best(res, lhs, rhs):
    x, y = lhs['matches'], rhs['matches']
    first = (x.weight > y.weight) | ((x.weight == y.weight) & (x.j < y.j))
    res['matches'] = where(first, x, y)


def prl(I, J):
    """Probabilistic record linkage: helpers and loops of Python build the scalar function."""
    @mdh.mdh()
    def prl():
        def weigh(out, inp, index):
            a, b = ({name: getattr(inp[list_], name) for name in _FIELDS} for list_ in "NE")
            out['matches'] = _linkage(a, b, index.j)

        return (
            out_view[Match](matches=[lambda i, j: (i)]),
            md_hom[I, J](weigh, (cc, pw(best))),
            inp_view[Person, Person](N=[lambda i, j: (i)], E=[lambda i, j: (j)]),
        )
    return prl


def prl_soa(I, J):
    """The same with one array per field."""
    @mdh.mdh()
    def prl_soa():
        def weigh(out, inp, index):
            a, b = (dict(zip(_FIELDS, inp[list_])) for list_ in "NE")
            out['matches'] = _linkage(a, b, index.j)

        return (
            out_view[Match](matches=[lambda i, j: (i)]),
            md_hom[I, J](weigh, (cc, pw(best))),
            inp_view[int32, int32](N=[lambda i, j, n=n: (n, i) for n in range(14)],
                                   E=[lambda i, j, n=n: (n, j) for n in range(14)]),
        )
    return prl_soa


def bmatmul(B, I, J, K):
    return einsum("bik,bkj->bij", b=B, i=I, j=J, k=K)


def ccsdt(left, right):
    return lambda **sizes: einsum(f"{left},{right}->abcdef",
                                  **{name.lower(): size for name, size in sizes.items()})


def matmul_t(I, J, K):
    @mdh.mdh(out(C=Buffer[fp32]), inp(A=Buffer[fp32], B=Buffer[fp32]))
    def matmul_t(C, A, B):
        for i in range(I):
            for j in range(J):
                for k in range(K):
                    C[j, i] += A[k, i] * B[j, k]
    return matmul_t


def jacobi3d(I1, I2, I3):
    @mdh.mdh()
    def jacobi3d():
        def f(out, inp):
            factors = (0.161, 0.162, 0.163, 0.164, 0.165, 0.166)
            total = None
            for factor, neighbour in zip(factors, inp['inp']):
                total = factor * neighbour if total is None else total + factor * neighbour
            out['out'] = total - 1.67 * inp['inp'][6]

        points = [(1, 1, 0), (1, 1, 2), (1, 0, 1), (1, 2, 1), (0, 1, 1), (2, 1, 1), (1, 1, 1)]
        return (
            out_view[fp32](out=[lambda i, j, k: (i, j, k)]),
            md_hom[I1, I2, I3](f, (cc, cc, cc)),
            inp_view[fp32](inp=[lambda i, j, k, p=p: (i + p[0], j + p[1], k + p[2])
                                for p in points]),
        )
    return jacobi3d


def gconv(N, G, K, P, Q, C, R, S):
    @mdh.mdh()
    def gconv():
        return (
            out_view[fp64](out=[lambda n, g, k, p, q, c, r, s: (n, g, k, p, q)]),
            md_hom[N, G, K, P, Q, C, R, S](mul, (cc,) * 5 + (pw(add),) * 3),
            inp_view[fp64, fp64](
                image=[lambda n, g, k, p, q, c, r, s: (n, g, c, p + r, q + s)],
                filter=[lambda n, g, k, p, q, c, r, s: (g, k, c, r, s)]),
        )
    return gconv


def mcc_capsule(N, P, Q, K, R, S, C, MI, MJ, MK, SH, SW):
    @mdh.mdh()
    def mcc_capsule():
        return (
            out_view[fp32](
                out=[lambda n, p, q, k, r, s, c, mi, mj, mk: (n, p, q, k, mi, mj)]),
            md_hom[N, P, Q, K, R, S, C, MI, MJ, MK](
                mul, (cc,) * 4 + (pw(add),) * 3 + (cc, cc, pw(add))),
            inp_view[fp32, fp32](
                image=[lambda n, p, q, k, r, s, c, mi, mj, mk:
                       (n, SH * p + r, SW * q + s, c, mi, mk)],
                filter=[lambda n, p, q, k, r, s, c, mi, mj, mk: (k, r, s, c, mk, mj)]),
        )
    return mcc_capsule
