"""Tensors, variables and functions on a GPU: on the machine's own, or else on the emulated one."""

from __future__ import annotations

from gpu_process import run


def test_a_device_holds_what_is_made_within_it() -> None:
    printed = run("""
        import numpy as np
        import penstock as tf

        x = np.arange(100, dtype=np.float32)
        with tf.device("GPU:0"):
            a = tf.constant(x)
            b = tf.exp(a) + 1.0
            v = tf.Variable(b)
            with tf.device("CPU:0"):
                c = tf.identity(b)
        print(a.device, b.device, v.device, c.device, tf.constant(x).device, sep="\\n")
        np.testing.assert_array_equal(b.numpy(), (tf.exp(x) + 1.0).numpy())
        v.assign_add(a)
        print(v.device)
        np.testing.assert_array_equal(v.numpy(), b.numpy() + x)
        assert tf.reduce_sum(a).numpy() == x.sum() and float(a[7]) == 7.0 and bool(tf.reduce_all(a == x))
    """)
    place = "/job:localhost/replica:0/task:0/device:"
    assert printed.split() == [place + d for d in ("GPU:0", "GPU:0", "GPU:0", "CPU:0", "CPU:0", "GPU:0")]


def test_a_value_that_becomes_a_tensor_is_on_the_device_of_the_scope() -> None:
    printed = run("""
        import numpy as np
        import penstock as tf

        x = np.ones([10, 10], np.float32)
        here = tf.Variable(x)
        with tf.device("GPU:0"):
            made = [tf.convert_to_tensor(x), tf.cast(x, tf.float32), tf.cast(x, tf.int32), tf.zeros([10, 10])]
            kept = [tf.convert_to_tensor(here), tf.cast(tf.constant(1.0), tf.float32)]
        print([t.device[-5:] for t in made], [t.device[-5:] for t in kept])
    """)
    assert printed.strip() == "['GPU:0', 'GPU:0', 'GPU:0', 'GPU:0'] ['CPU:0', 'CPU:0']"


def test_a_tensor_that_is_made_a_constant_stays_what_it_was() -> None:
    printed = run("""
        import penstock as tf

        host = tf.ones([10, 10])
        with tf.device("GPU:0"):
            x = tf.ones([10, 10])
            with tf.GradientTape() as tape:
                tape.watch(x)
                again = tf.constant(x)
                y = tf.reduce_sum(again * tf.constant(x, shape=[10, 10]))
            slope = tape.gradient(y, x)
            print(again is x, float(slope[3, 3]), tf.constant(host).device[-5:])
    """)
    assert printed.split() == ["True", "2.0", "CPU:0"]


def test_functions_and_gradients_are_those_of_the_host() -> None:
    run("""
        import numpy as np
        import penstock as tf

        @tf.function
        def step(x, w):
            with tf.GradientTape() as tape:
                tape.watch(w)
                total = 0.0
                for _ in tf.range(3):
                    total += tf.reduce_sum(tf.tanh(x @ w) * x)
            return total, tape.gradient(total, w)

        x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
        due = step(x, tf.constant(x))
        with tf.device("/GPU:0"):
            got = step(x, tf.constant(x))
        # Products round in another order.
        for a, b in zip(due, got):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)
        print(step(x, got[1])[1].device)
    """)


def test_what_a_device_rejects_is_raised_where_the_value_is_read() -> None:
    printed = run("""
        import penstock as tf

        with tf.device("GPU:0"):
            y = tf.ones([50], tf.int32) // tf.zeros([50], tf.int32)
        for read in (y.numpy, y.tolist, lambda: repr(y), lambda: y[3].numpy(), lambda: memoryview(y)):
            try:
                read()
            except tf.errors.InvalidArgumentError as error:
                print("zero" in str(error))
    """)
    assert printed.split() == ["True"] * 5


def test_a_device_that_is_not_there_leaves_the_operations_on_the_host() -> None:
    printed = run("""
        import penstock as tf

        with tf.device("GPU:9"):
            print(tf.ones([50]).device)
        tf.config.set_soft_device_placement(False)
        try:
            with tf.device("GPU:9"):
                pass
        except tf.errors.InvalidArgumentError as error:
            print("GPU:9" in str(error))
        print(tf.ones([50]).device)
    """)
    host = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert printed.split() == [host, "True", host]


def test_a_function_that_ran_on_a_device_is_collected_with_its_callback() -> None:
    run("""
        import gc
        import weakref

        import penstock as tf

        class Callback:
            def __call__(self, x):
                return x * x

        def make():
            callback = Callback()

            @tf.function
            def f(x):
                return tf.py_function(callback, [x], tf.TensorSpec([100])) + 1.0

            callback.function = f
            with tf.device("GPU:0"), tf.GradientTape() as tape:
                x = tf.ones([100])
                tape.watch(x)
                y = f(x)
            assert tape.gradient(y, x).numpy()[0] == 2.0
            return weakref.ref(f), weakref.ref(callback)

        gone = make()
        while gc.collect():
            pass
        assert [r() for r in gone] == [None, None], gone
    """)


def test_a_result_of_few_elements_stays_on_the_device_until_it_is_read() -> None:
    run("""
        import numpy as np
        import penstock as tf

        x = np.arange(100, dtype=np.float32)
        with tf.device("GPU:0"):
            a = tf.constant(x)
        total = tf.reduce_sum(a)
        double = total * 2.0
        assert total.device.endswith("GPU:0") and double.device.endswith("GPU:0")
        assert float(total) == x.sum() and int(double) == 2 * x.sum() and f"{total}" == "4950.0"
        assert total > 4949 and bool(tf.equal(total, x.sum())) and np.float32(4950) == total.numpy()
        assert [1, 2, 3][int(tf.argmax(a[:3]))] == 3

        @tf.function
        def halved(a, least):
            rounds = 0
            while tf.reduce_sum(a) > least:
                a = a / 2.0
                rounds += 1
            if tf.reduce_max(a) > 1.0:
                return a, rounds, tf.reduce_max(a)
            return a * 0.0, rounds, tf.reduce_min(a)

        for least in (100.0, 1.0):
            there, here = halved(a, least), halved(tf.constant(x), least)
            for g, h in zip(there, here, strict=True):
                np.testing.assert_array_equal(g.numpy(), h.numpy())

        v = tf.Variable([1.0, 2.0])
        with tf.device("GPU:0"):
            w = tf.Variable(x)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * w) * tf.reduce_sum(v)
            for variable, g in zip((v, w), tape.gradient(loss, (v, w)), strict=True):
                variable.assign_sub(1e-6 * g)
            return loss

        losses = [float(step()) for _ in range(6)]
        assert losses == sorted(losses, reverse=True) and v.numpy()[0] < 1.0, losses

        rejected = tf.reduce_sum(tf.cast(a, tf.int32) // tf.zeros([100], tf.int32))
        slices = (lambda r: a[r], lambda r: a[:r])
        for read in (int, float, bool, repr, "{:d}".format, np.array, range, tf.zeros, *slices):
            try:
                read(rejected)
            except tf.errors.InvalidArgumentError as error:
                assert "floordiv" in str(error) or "division" in str(error), error
            else:
                raise AssertionError("a division by zero")
    """)
