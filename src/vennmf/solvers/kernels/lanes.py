"""Vectors of the processor as a Numba type: arithmetic on 16 float32 or 8 float64 lanes at once with AVX-512, fewer elsewhere.

Each operation becomes one instruction or two. Those that touch memory take an offset into the flat memory
of a contiguous array, and check no bounds.
"""

import operator
from typing import Any

from llvmlite import binding, ir
from numba import config, extending, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

intrinsic: Any = extending.intrinsic  # what it makes is called with other arguments than it is written with
CONTRACT = ("contract",)  # a * b + c may be rounded once; nothing else is relaxed


def _register_bytes():
    """Bytes of the widest registers that Numba compiles for: those of this processor, or as its settings say."""
    settings: Any = config
    asked = "" if settings.CPU_NAME == "generic" else settings.CPU_FEATURES
    has = binding.get_host_cpu_features().get if asked is None else lambda name: f"+{name}" in asked.split(",")
    return 64 if has("avx512f") else 32 if has("avx") else 16


BYTES = _register_bytes()


def width(dtype):
    """Lanes of one vector of a floating type of so many bits."""
    return BYTES * 8 // dtype.bitwidth


class Lanes(types.Type):
    """A vector of ``width(dtype)`` numbers."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype} x {width(dtype)})")


def _vector(dtype):
    return ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), width(dtype))


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(lanes.dtype))


def _address(context, builder, array_type, array, offset):
    if array_type.layout != "C":
        raise TypeError(f"vectors are read from C-contiguous arrays, found {array_type}")
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset])


def _spread(builder, vector, scalar):
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    return builder.shuffle_vector(first, first, zeros)


def _read(builder, address, dtype):
    value = builder.load(builder.bitcast(address, _vector(dtype).as_pointer()))
    value.align = dtype.bitwidth // 8
    return value


def _write(builder, value, address, dtype):
    builder.store(value, builder.bitcast(address, value.type.as_pointer())).align = dtype.bitwidth // 8


@intrinsic
def lanes_of(typing, array):
    """How many numbers of the array's type one vector holds."""

    def generate(context, builder, sig, args):
        return context.get_constant(types.intp, width(sig.args[0].dtype))

    return types.intp(array), generate


@intrinsic
def load(typing, array, offset):
    """Lanes array.flat[offset:offset + width]."""

    def generate(context, builder, sig, args):
        return _read(builder, _address(context, builder, sig.args[0], *args), sig.args[0].dtype)

    return Lanes(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing, array, offset, lanes):
    """array.flat[offset:offset + width] = lanes."""

    def generate(context, builder, sig, args):
        address = _address(context, builder, sig.args[0], *args[:2])
        _write(builder, args[2], address, sig.args[0].dtype)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


def _first(builder, vector, n):
    """A mask of the first n lanes, all of them where there are fewer."""
    word = ir.IntType(64)
    numbers = ir.Constant(ir.VectorType(word, vector.count), list(range(vector.count)))
    return builder.icmp_signed("<", numbers, _spread(builder, numbers.type, n))


def _masked(builder, what, vector, result, arguments):
    element = "f32" if vector.element == ir.FloatType() else "f64"
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    name = f"llvm.masked.{what}.v{vector.count}{element}.p0"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


@intrinsic
def load_first(typing, array, offset, n):
    """Lanes array.flat[offset:offset + n], at most a vector; the others are zero, and what follows is not touched."""

    def generate(context, builder, sig, args):
        vector = _vector(sig.args[0].dtype)
        pointer = builder.bitcast(_address(context, builder, sig.args[0], *args[:2]), vector.as_pointer())
        alignment = ir.Constant(ir.IntType(32), sig.args[0].dtype.bitwidth // 8)
        given = [pointer, alignment, _first(builder, vector, args[2]), ir.Constant(vector, None)]
        return _masked(builder, "load", vector, vector, given)

    return Lanes(array.dtype)(array, types.intp, types.intp), generate


@intrinsic
def store_first(typing, array, offset, n, lanes):
    """array.flat[offset:offset + n] = lanes, at most a vector; what follows is not touched."""

    def generate(context, builder, sig, args):
        vector = _vector(sig.args[0].dtype)
        pointer = builder.bitcast(_address(context, builder, sig.args[0], *args[:2]), vector.as_pointer())
        alignment = ir.Constant(ir.IntType(32), sig.args[0].dtype.bitwidth // 8)
        _masked(
            builder, "store", vector, ir.VoidType(), [args[3], pointer, alignment, _first(builder, vector, args[2])]
        )
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, lanes), generate


@intrinsic
def spread(typing, array, offset):
    """The one number array.flat[offset] in all lanes."""

    def generate(context, builder, sig, args):
        scalar = builder.load(_address(context, builder, sig.args[0], *args))
        return _spread(builder, _vector(sig.args[0].dtype), scalar)

    return Lanes(array.dtype)(array, types.intp), generate


@intrinsic
def zeros(typing, array):
    """Zero in all lanes."""

    def generate(context, builder, sig, args):
        return ir.Constant(_vector(sig.args[0].dtype), None)

    return Lanes(array.dtype)(array), generate


@intrinsic
def spread_number(typing, scalar):
    """A number in all lanes."""

    def generate(context, builder, sig, args):
        return _spread(builder, _vector(sig.args[0]), args[0])

    return Lanes(scalar)(scalar), generate


def _comparing(order, docstring):
    """select(left <order> right, left, right), which lets a right operand that is not a number through."""

    def lanes(typing, left, right):
        def generate(context, builder, sig, args):
            return builder.select(builder.fcmp_ordered(order, *args), *args)

        return left(left, right), generate

    lanes.__doc__ = docstring
    return intrinsic(lanes)


at_least = _comparing(">", "The larger of bound and value, or value where it is not a number.")
at_most = _comparing("<", "The smaller of bound and value, or value where it is not a number.")


@intrinsic
def where_positive(typing, condition, then, otherwise):
    """``then`` in the lanes where condition > 0, else ``otherwise``."""

    def generate(context, builder, sig, args):
        zero = ir.Constant(args[0].type, None)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return then(condition, then, otherwise), generate


@intrinsic
def add_squares(typing, sums, offset, lanes):
    """sums[offset:offset + width] += lanes ** 2, in float64."""

    def generate(context, builder, sig, args):
        address = _address(context, builder, sig.args[0], args[0], args[1])
        wide = ir.VectorType(ir.DoubleType(), args[2].type.count)
        value = args[2] if args[2].type == wide else builder.fpext(args[2], wide)
        before = builder.load(builder.bitcast(address, wide.as_pointer()))
        before.align = 8
        square = builder.fmul(value, value, flags=CONTRACT)
        _write(builder, builder.fadd(before, square, flags=CONTRACT), address, types.float64)
        return context.get_dummy_value()

    return types.void(sums, types.intp, lanes), generate


@intrinsic
def load_eight(typing, array, offset):
    """Eight vectors in a row, the first at ``offset``."""

    def generate(context, builder, sig, args):
        dtype = sig.args[0].dtype
        found = []
        for n in range(8):
            place = builder.add(args[1], ir.Constant(args[1].type, n * width(dtype)))
            found.append(_read(builder, _address(context, builder, sig.args[0], args[0], place), dtype))
        return context.make_tuple(builder, sig.return_type, found)

    return types.UniTuple(Lanes(array.dtype), 8)(array, types.intp), generate


@intrinsic
def store_eight(typing, array, offset, sums):
    """Eight vectors in a row, the first at ``offset``."""

    def generate(context, builder, sig, args):
        dtype = sig.args[0].dtype
        for n, value in enumerate(cgutils.unpack_tuple(builder, args[2])):
            place = builder.add(args[1], ir.Constant(args[1].type, n * width(dtype)))
            _write(builder, value, _address(context, builder, sig.args[0], args[0], place), dtype)
        return context.get_dummy_value()

    return types.void(array, types.intp, sums), generate


@intrinsic
def less_products(typing, sums, pair, array, offset, stride):
    """sums[2 n + h] - array.flat[offset + n * stride] * pair[h] for four numbers n and both halves h."""

    def generate(context, builder, sig, args):
        halves = cgutils.unpack_tuple(builder, args[1])
        found = []
        for n, (p, q) in enumerate(zip(*[iter(cgutils.unpack_tuple(builder, args[0]))] * 2, strict=True)):
            place = builder.add(args[3], builder.mul(args[4], ir.Constant(args[4].type, n)))
            number = builder.load(_address(context, builder, sig.args[2], args[2], place))
            factor = _spread(builder, p.type, number)
            for total, half in zip((p, q), halves, strict=True):
                found.append(builder.fsub(total, builder.fmul(factor, half, flags=CONTRACT), flags=CONTRACT))
        return context.make_tuple(builder, sig.return_type, found)

    return sums(sums, pair, array, types.intp, types.intp), generate


@intrinsic
def transpose(typing, source, source_offset, source_stride, target, target_offset, target_stride):
    """target[j, i] = source[i, j] for a square of width x width numbers; log2(width) rounds of shuffles."""

    def generate(context, builder, sig, args):
        dtype = sig.args[0].dtype
        n = width(dtype)
        word = ir.IntType(64)

        def row(array_type, arguments, i):
            array, offset, stride = arguments
            step = builder.mul(stride, ir.Constant(word, i))
            return _address(context, builder, array_type, array, builder.add(offset, step))

        rows = [_read(builder, row(sig.args[0], args[:3], i), dtype) for i in range(n)]
        half = n // 2
        while half:
            for i in range(n):
                if not i & half:
                    low = [j if not j & half else n + j - half for j in range(n)]
                    high = [j + half if not j & half else n + j for j in range(n)]
                    masks = [ir.Constant(ir.VectorType(ir.IntType(32), n), m) for m in (low, high)]
                    pair = rows[i], rows[i + half]
                    rows[i], rows[i + half] = (builder.shuffle_vector(*pair, mask) for mask in masks)
            half //= 2
        for j in range(n):
            _write(builder, rows[j], row(sig.args[3], args[3:], j), dtype)
        return context.get_dummy_value()

    signed = types.intp
    return types.void(source, signed, signed, target, signed, signed), generate


@intrinsic
def prefetch(typing, array, offset):
    """Ask for the cache line of array.flat[offset]; harmless if it is never used."""

    def generate(context, builder, sig, args):
        address = _address(context, builder, sig.args[0], *args)
        pointer = ir.IntType(8).as_pointer()
        integer = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(integer, n) for n in (0, 3, 1)]
        builder.call(hint, [builder.bitcast(address, pointer), *flags])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _arithmetic(symbol, instruction):
    @infer_global(symbol)
    class OnLanes(AbstractTemplate):
        def generic(self, args, keywords):
            if len(args) == 2 and args[0] == args[1] and isinstance(args[0], Lanes):
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, Lanes, Lanes)
    def generate(context, builder, sig, args):
        return getattr(builder, instruction)(*args, flags=CONTRACT)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_symbol, _instruction)
