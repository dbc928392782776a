"""Writes `tensorflow_1.zip` with TensorFlow 2.21: `python make_tensorflow_1.py`."""

import tempfile
import zipfile
from pathlib import Path

import tensorflow

v1 = tensorflow.compat.v1

with tempfile.TemporaryDirectory() as name, tensorflow.Graph().as_default(), v1.Session() as session:
    x = v1.placeholder(tensorflow.float32, [None, 2], name="x")
    first = v1.constant_initializer([2.0, 3.0])
    w = v1.get_variable("layer/w", [2, 1], initializer=first, use_resource=False)
    b = v1.get_variable("layer/b", [1], initializer=v1.zeros_initializer(), use_resource=True)
    step = v1.train.get_or_create_global_step()
    y = tensorflow.add(tensorflow.matmul(x, w), b, name="y")
    loss = tensorflow.reduce_mean(tensorflow.square(y), name="loss")
    by_w, by_b = v1.gradients(loss, [w, b])
    updates = [v1.assign_sub(w, 0.1 * by_w), v1.assign_sub(b, 0.1 * by_b), v1.assign_add(step, 1)]
    train = tensorflow.group(*updates, name="train")
    v1.add_to_collection("inputs", x)
    v1.add_to_collection("train_op", train)
    session.run(v1.global_variables_initializer())
    v1.train.Saver().save(session, f"{name}/model")
    v1.saved_model.simple_save(session, f"{name}/saved", {"x": x}, {"y": y})
    with zipfile.ZipFile(Path(__file__).with_name("tensorflow_1.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(name).rglob("*")):
            if path.is_file() and path.name != "checkpoint":
                archive.write(path, path.relative_to(name))
