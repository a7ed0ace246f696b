import io.deephaven.engine.rowset.RowSet;
import io.deephaven.engine.rowset.RowSetBuilderSequential;
import io.deephaven.engine.rowset.RowSetFactory;
import io.deephaven.engine.rowset.WritableRowSet;
import io.deephaven.engine.rowset.impl.ExternalizableRowSetUtils;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.function.Supplier;

/** Deephaven's row set through the shapes and operations of `main.rs`: prints shape, operation and seconds (or bytes a key). */
public class RowSets {
    static final long KEYS = 1_000_000;
    static final double ENOUGH = 0.06;
    static long sink;

    /** The generator of `shapes.rs`. */
    static final class Random {
        long state;

        Random(long seed) {
            state = seed | 1;
        }

        long below(long end) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            return ((state * 0x2545_f491_4f6c_dd1dL) >>> 1) % end;
        }
    }

    static long[] dense(long percent, long seed) {
        final Random random = new Random(seed);
        final long[] keys = new long[(int) (KEYS * 100 / percent)];
        int len = 0;
        for (long key = 0; key < KEYS * 100 / percent; ++key) {
            if (random.below(100) < percent) {
                keys[len++] = key;
            }
        }
        return Arrays.copyOf(keys, len);
    }

    static long[] clustered(long seed) {
        final Random random = new Random(seed);
        final long[] keys = new long[(int) KEYS + 2000];
        int len = 0;
        long from = 0;
        while (len < KEYS) {
            final long count = 1 + random.below(2000);
            from += 1 + random.below(2000);
            for (long key = from; key < from + count; ++key) {
                keys[len++] = key;
            }
            from += count;
        }
        return Arrays.copyOf(keys, len);
    }

    static long[] sparse(long count, long below, long seed) {
        final Random random = new Random(seed);
        final long[] keys = new long[(int) count];
        for (int at = 0; at < count; ++at) {
            keys[at] = random.below(below);
        }
        Arrays.sort(keys);
        return Arrays.stream(keys).distinct().toArray();
    }

    static long[] kept(long from, long to, java.util.function.LongPredicate keep) {
        return java.util.stream.LongStream.range(from, to).filter(keep).toArray();
    }

    static Map<String, LongFunction<long[]>> shapes() {
        final Map<String, LongFunction<long[]>> all = new LinkedHashMap<>();
        all.put("one range", seed -> kept(seed % 1000, KEYS, key -> true));
        for (final long percent : new long[] {1, 10, 50, 99}) {
            all.put(percent + " %", seed -> dense(percent, seed));
        }
        all.put("clustered", RowSets::clustered);
        all.put("sorted append", seed -> kept(0, KEYS, key -> key % 1000 != seed % 1000 || key > KEYS / 2));
        all.put("sparse, 1 million over 2^37", seed -> sparse(KEYS, 1L << 37, seed));
        all.put("sparse, 10 million over 2^40", seed -> sparse(10 * KEYS, 1L << 40, seed));
        all.put("every other", seed -> java.util.stream.LongStream.range(0, KEYS).map(key -> key * 2 + seed % 2).toArray());
        all.put("full with holes", seed -> kept(0, KEYS, key -> key % 65_536 != seed % 65_536));
        all.put("far apart", seed -> java.util.stream.LongStream.range(0, 1000)
                .flatMap(piece -> java.util.stream.LongStream.range((piece << 40) + seed % 7, (piece << 40) + 1000)).toArray());
        return all;
    }

    static WritableRowSet build(long[] keys) {
        final RowSetBuilderSequential builder = RowSetFactory.builderSequential();
        for (final long key : keys) {
            builder.appendKey(key);
        }
        return builder.build();
    }

    static long used() {
        for (int at = 0; at < 3; ++at) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Best of the calls, the first of which warm the compiler up. */
    static void time(String shape, String operation, Supplier<Object> call) {
        double best = Double.POSITIVE_INFINITY;
        final long start = System.nanoTime();
        for (int calls = 0; calls < 3 || (System.nanoTime() - start) * 1e-9 < 8 * ENOUGH; ++calls) {
            final long one = System.nanoTime();
            final Object made = call.get();
            best = Math.min(best, (System.nanoTime() - one) * 1e-9);
            if (made instanceof RowSet) {
                ((RowSet) made).close();
            }
            if ((System.nanoTime() - start) * 1e-9 > 30) {
                break;
            }
        }
        tell(shape, operation, best);
    }

    static void each(String shape, String operation, long[] keys, java.util.function.LongUnaryOperator call) {
        double best = Double.POSITIVE_INFINITY;
        for (int round = 0; round < 3; ++round) {
            final long one = System.nanoTime();
            long sum = 0;
            for (final long key : keys) {
                sum += call.applyAsLong(key);
            }
            sink += sum;
            best = Math.min(best, (System.nanoTime() - one) * 1e-9 / keys.length);
        }
        tell(shape, operation, best);
    }

    static void tell(String shape, String operation, double figure) {
        System.out.println(shape + "\t" + operation + "\t" + figure);
    }

    static Object serialised(RowSet rows) {
        try {
            final ByteArrayOutputStream bytes = new ByteArrayOutputStream(1 << 16);
            try (DataOutputStream out = new DataOutputStream(bytes)) {
                ExternalizableRowSetUtils.writeExternalCompressedDeltas(out, rows);
            }
            return bytes.size();
        } catch (IOException broken) {
            throw new IllegalStateException(broken);
        }
    }

    static RowSet shifted(RowSet rows, long delta) {
        final long half = rows.size() / 2;
        try (RowSet upper = rows.subSetByPositionRange(half, rows.size()); RowSet moved = upper.shift(delta)) {
            final WritableRowSet made = rows.subSetByPositionRange(0, half);
            made.insert(moved);
            return made;
        }
    }

    static void measure(String shape, long[] keys, long[] others) {
        final int copies = keys.length > 2 * KEYS ? 2 : 20;
        final RowSet[] held = new RowSet[copies];
        build(keys).close();
        final long before = used();
        for (int at = 0; at < copies; ++at) {
            held[at] = build(keys);
        }
        tell(shape, "bytes a key", (double) Math.max(0, used() - before) / copies / keys.length);
        for (int at = 1; at < copies; ++at) {
            held[at].close();
        }
        final RowSet left = held[0];
        final RowSet right = build(others);
        final Random random = new Random(99);
        final long last = keys[keys.length - 1];
        final long[] few = new long[10_000];
        for (int at = 0; at < few.length; ++at) {
            few[at] = random.below(last);
        }
        final long[] picks = new long[1_000_000];
        final long[] present = new long[picks.length];
        for (int at = 0; at < picks.length; ++at) {
            picks[at] = random.below(keys.length);
            present[at] = keys[(int) picks[at]];
        }
        final long[] sorted = Arrays.stream(present).sorted().distinct().toArray();
        final long[] fewSorted = Arrays.stream(few).sorted().distinct().toArray();
        final long[] someSorted = Arrays.stream(present, 0, 10_000).sorted().distinct().toArray();
        time(shape, "union", () -> left.union(right));
        time(shape, "intersection", () -> left.intersect(right));
        time(shape, "difference", () -> left.minus(right));
        time(shape, "symmetric difference", () -> {
            final WritableRowSet made = left.minus(right);
            try (RowSet rest = right.minus(left)) {
                made.insert(rest);
            }
            return made;
        });
        time(shape, "build", () -> build(keys));
        each(shape, "contains", present, key -> left.containsRange(key, key) ? 1 : 0);
        each(shape, "position_of random", present, left::find);
        double batch = Double.POSITIVE_INFINITY;
        try (RowSet asked = build(sorted)) {
            for (int round = 0; round < 5; ++round) {
                final long one = System.nanoTime();
                try (RowSet found = left.invert(asked)) {
                    sink += found.size();
                }
                batch = Math.min(batch, (System.nanoTime() - one) * 1e-9 / sorted.length);
            }
        }
        tell(shape, "position_of sorted", batch);
        each(shape, "key_at", picks, left::get);
        time(shape, "slice", () -> left.subSetByPositionRange(keys.length / 4, keys.length / 4 * 3));
        time(shape, "iterate keys", () -> {
            final long[] sum = new long[1];
            left.forEachRowKey(key -> {
                sum[0] += key;
                return true;
            });
            return sum[0];
        });
        time(shape, "iterate ranges", () -> {
            final long[] count = new long[1];
            left.forEachRowKeyRange((first, end) -> {
                count[0] += 1;
                return true;
            });
            return count[0];
        });
        time(shape, "insert 10k", () -> {
            final WritableRowSet made = left.copy();
            try (RowSet more = build(fewSorted)) {
                made.insert(more);
            }
            return made;
        });
        time(shape, "remove 10k", () -> {
            final WritableRowSet made = left.copy();
            try (RowSet gone = build(someSorted)) {
                made.remove(gone);
            }
            return made;
        });
        time(shape, "clone + one", () -> {
            final WritableRowSet made = left.copy();
            made.insert(few[0]);
            return made;
        });
        time(shape, "shift half by 1", () -> shifted(left, 1));
        time(shape, "shift half by 2^16", () -> shifted(left, 1 << 16));
        time(shape, "serialise", () -> serialised(left));
        left.close();
        right.close();
    }

    public static void main(String[] asked) {
        shapes().forEach((shape, keys) -> {
            if (asked.length == 0 || Arrays.stream(asked).anyMatch(shape::contains)) {
                measure(shape, keys.apply(7), keys.apply(1_234_567));
            }
        });
        System.err.println(sink);
        System.exit(0);
    }
}
