"""The applications in TensorFlow's language."""

from collections.abc import Callable
from typing import Any

from cases import Work, Works
from families import applications as app


def works(tf: Any) -> Works:
    """The cases, traced and eager.

    Args:
        tf: The package that stands for TensorFlow.
    """
    programs = {
        "lbfgs": (lbfgs(tf), app.lbfgs_inputs),
        "maml": (maml(tf), app.maml_inputs),
        "beam_search": (beam_search(tf), app.beam_search_inputs),
        "sequence": (sequence(tf), app.sequence_inputs),
        "tree_lstm": (tree_lstm(tf), app.tree_inputs),
    }

    def case(key: str, compiled: Callable[..., Any]) -> Callable[[], Work]:
        program, inputs = programs[key]
        return lambda: Work(compiled(program), tuple(tf.constant(array) for array in inputs()))

    traced = {key: case(key, tf.function) for key in programs}
    return traced | {f"{key}_eager": case(key, lambda program: program) for key in programs}


def lbfgs(tf: Any) -> Callable[..., Any]:
    """L-BFGS by two loops over pairs of steps and changes of the gradient, with a search along the line.

    J. Nocedal, 1980, Updating quasi-Newton matrices with limited storage, Math. Comp. 35.
    """

    def objective(x, y, w):
        margins = y * tf.linalg.matvec(x, w)
        value = tf.reduce_mean(tf.nn.softplus(-margins)) + 0.5 * app.LBFGS_PENALTY * tf.reduce_sum(w * w)
        pull = -y * tf.sigmoid(-margins) / app.LBFGS_ROWS
        return value, tf.linalg.matvec(x, pull, transpose_a=True) + app.LBFGS_PENALTY * w

    def program(x, y, w):
        pairs = app.LBFGS_PAIRS
        steps = tf.zeros([pairs, app.LBFGS_COLUMNS])
        changes = tf.zeros([pairs, app.LBFGS_COLUMNS])
        curvatures = tf.zeros([pairs])
        scale = tf.constant(1.0)
        value, gradient = objective(x, y, w)
        for _ in tf.range(app.LBFGS_STEPS):
            direction = gradient
            alphas = tf.TensorArray(tf.float32, pairs, clear_after_read=False, element_shape=[])
            for i in tf.range(pairs - 1, -1, -1):
                alpha = curvatures[i] * tf.reduce_sum(steps[i] * direction)
                direction -= alpha * changes[i]
                alphas = alphas.write(i, alpha)
            direction *= scale
            for i in tf.range(pairs):
                beta = curvatures[i] * tf.reduce_sum(changes[i] * direction)
                direction += steps[i] * (alphas.read(i) - beta)
            slope = tf.reduce_sum(gradient * direction)
            rate = tf.constant(1.0)
            ahead, gradient_ahead = objective(x, y, w - rate * direction)
            while ahead > value - 1e-4 * rate * slope and rate > 1e-4:
                rate *= 0.5
                ahead, gradient_ahead = objective(x, y, w - rate * direction)
            step, change = -rate * direction, gradient_ahead - gradient
            product = tf.reduce_sum(step * change)
            if product > 1e-10:
                steps = tf.concat([steps[1:], step[None]], 0)
                changes = tf.concat([changes[1:], change[None]], 0)
                curvatures = tf.concat([curvatures[1:], [1.0 / product]], 0)
                scale = product / tf.reduce_sum(change * change)
            w += step
            value, gradient = ahead, gradient_ahead
        return w, value

    return program


def maml(tf: Any) -> Callable[..., Any]:
    """The gradient of the loss after one step of adaptation, over tasks of regression.

    C. Finn, P. Abbeel and S. Levine, 2017, Model-agnostic meta-learning.
    """

    def loss(parameters, x, y):
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = tf.nn.relu(tf.nn.relu(x @ w1 + b1) @ w2 + b2)
        return tf.reduce_mean(tf.square(hidden @ w3 + b3 - y))

    def program(x, y, x_test, y_test, *parameters):
        total = tf.constant(0.0)
        with tf.GradientTape() as outer:
            outer.watch(parameters)
            for task in tf.range(app.TASKS):
                with tf.GradientTape() as inner:
                    inner.watch(parameters)
                    before = loss(parameters, x[task], y[task])
                gradients = inner.gradient(before, parameters)
                adapted = [p - app.INNER_RATE * g for p, g in zip(parameters, gradients, strict=True)]
                total += loss(adapted, x_test[task], y_test[task])
        return outer.gradient(total, parameters)

    return program


def beam_search(tf: Any) -> Callable[..., Any]:
    """The most probable sentences of a recurrent model; word 0 ends one."""

    def program(words, w, out):
        beams, vocabulary = app.SEARCH_BEAMS, app.SEARCH_WORDS
        state = tf.zeros([beams, app.SEARCH_WIDTH])
        # The beams are alike at first: only one counts.
        score = tf.concat([[0.0], tf.fill([beams - 1], -1e9)], 0)
        word = tf.ones([beams], tf.int32)
        done = tf.zeros([beams], tf.bool)
        history = tf.zeros([app.SEARCH_STEPS, beams], tf.int32)
        length = tf.constant(0)
        for i in tf.range(app.SEARCH_STEPS):
            state = tf.tanh(state @ w + tf.gather(words, word))
            rates = tf.nn.log_softmax(state @ out)
            ended = tf.one_hot(tf.zeros([beams], tf.int32), vocabulary, on_value=0.0, off_value=-1e9)
            rates = tf.where(done[:, None], ended, rates)
            score, best = tf.math.top_k(tf.reshape(score[:, None] + rates, [-1]), beams)
            parent, word = best // vocabulary, best % vocabulary
            state = tf.gather(state, parent)
            done = tf.logical_or(tf.gather(done, parent), word == 0)
            history = tf.gather(history, parent, axis=1)
            history = tf.tensor_scatter_nd_update(history, [[i]], word[None])
            length += 1
            if tf.reduce_all(done):
                break
        return score, tf.cast(history, tf.float32), tf.cast(length, tf.float32)

    return program


def sequence(tf: Any) -> Callable[..., Any]:
    """The loss of a model of language over sentences of different lengths, and its gradient."""

    def program(words, lengths, embedding, cell, bias, out):
        weights = [cell, bias, out]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            h = c = tf.zeros([app.SEQUENCE_BATCH, app.SEQUENCE_WIDTH])
            total = tf.constant(0.0)
            for t in tf.range(tf.reduce_max(lengths)):
                x = tf.gather(embedding, words[:, t])
                gates = tf.concat([x, h], 1) @ cell + bias
                i, j, f, o = tf.split(gates, 4, axis=1)
                c_next = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
                h_next = tf.sigmoid(o) * tf.tanh(c_next)
                live = (t < lengths)[:, None]
                h, c = tf.where(live, h_next, h), tf.where(live, c_next, c)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=words[:, t + 1], logits=h @ out
                )
                total += tf.reduce_sum(tf.where(t < lengths, losses, tf.zeros_like(losses)))
            loss = total / tf.cast(tf.reduce_sum(lengths), tf.float32)
        return loss, *tape.gradient(loss, weights)

    return program


def tree_lstm(tf: Any) -> Callable[..., Any]:
    """The state of the root of a binary tree, children before parents.

    K. Tai, R. Socher and C. Manning, 2015, Improved semantic representations from tree-structured LSTMs.
    """

    def program(left, right, vectors, weights, bias):
        nodes, width = 2 * app.TREE_LEAVES - 1, app.TREE_WIDTH
        hs = tf.TensorArray(tf.float32, nodes, clear_after_read=False, element_shape=[1, width])
        cs = tf.TensorArray(tf.float32, nodes, clear_after_read=False, element_shape=[1, width])
        h = c = tf.zeros([1, width])
        for node in tf.range(nodes):
            if left[node] < 0:
                h, c = vectors[node][None], tf.zeros([1, width])
            else:
                both = tf.concat([hs.read(left[node]), hs.read(right[node])], 1)
                i, j, fl, fr, o = tf.split(both @ weights + bias, 5, axis=1)
                c = tf.sigmoid(fl + 1.0) * cs.read(left[node]) + tf.sigmoid(fr + 1.0) * cs.read(right[node])
                c += tf.sigmoid(i) * tf.tanh(j)
                h = tf.sigmoid(o) * tf.tanh(c)
            hs, cs = hs.write(node, h), cs.write(node, c)
        return h, c

    return program
