"""Data in the place of what TensorFlow's notebooks download: of the same form, small, and random.

`install` replaces the functions that download: `keras.utils.get_file`, `keras.datasets.*.load_data`, weights
of `keras.applications`, `pandas.read_csv` of an address, and `tensorflow_datasets`; `IPython` shows nothing.
"""

from __future__ import annotations

import gzip
import random
import shutil
import sys
import types
import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["install"]

_numbers = np.random.default_rng(0)
_draws = random.Random(0)

WORDS: Final = ("the", "of", "and", "to", "in", "he", "was", "that", "his", "it", "with", "as", "for", "had")


def sentence(words: int = 12) -> str:
    """Some words."""
    return " ".join(_draws.choice(WORDS) for _ in range(words))


# --- tables: a function of the row for each column ---

Column = Callable[[int], object]


def number(low: float, high: float) -> Column:
    return lambda _: round(_draws.uniform(low, high), 3)


def whole(low: int, high: int) -> Column:
    return lambda _: _draws.randint(low, high)


def one_of(*values: object) -> Column:
    return lambda _: _draws.choice(values)


def table(path: Path, columns: dict[str, Column], rows: int, header: bool = True, between: str = ",") -> Path:
    """Writes a table as text."""
    lines = [between.join(columns)] if header else []
    lines += [between.join(str(make(row)) for make in columns.values()) for row in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def columns_of(names: str, make: Column) -> dict[str, Column]:
    return dict.fromkeys(names.split(), make)


TITANIC: Final[dict[str, Column]] = {
    "survived": whole(0, 1),
    "sex": one_of("male", "female"),
    "age": number(1, 80),
    "n_siblings_spouses": whole(0, 3),
    "parch": whole(0, 2),
    "fare": number(5, 100),
    "class": one_of("First", "Second", "Third"),
    "deck": one_of("A", "B", "C", "unknown"),
    "embark_town": one_of("Southampton", "Cherbourg"),
    "alone": one_of("y", "n"),
}
HEART: Final[dict[str, Column]] = {
    **columns_of("age sex cp trestbps chol fbs restecg thalach exang", whole(0, 150)),
    "oldpeak": number(0, 5),
    **columns_of("slope ca", whole(0, 3)),
    "thal": one_of("normal", "fixed", "reversible"),
    "target": whole(0, 1),
}
PETS: Final[dict[str, Column]] = {
    "Type": one_of("Cat", "Dog"),
    "Age": whole(1, 60),
    "Breed1": one_of("Tabby", "Mixed Breed"),
    "Gender": one_of("Male", "Female"),
    **columns_of("Color1 Color2", one_of("Black", "White")),
    "MaturitySize": one_of("Small", "Large"),
    "FurLength": one_of("Short", "Long"),
    **columns_of("Vaccinated Sterilized", one_of("Yes", "No")),
    "Health": one_of("Healthy", "Minor"),
    "Fee": whole(0, 300),
    "Description": lambda _: sentence(5),
    "PhotoAmt": whole(1, 9),
    "AdoptionSpeed": whole(0, 4),
}
TRAFFIC: Final[dict[str, Column]] = {
    "holiday": one_of("None", "Labor Day"),
    **columns_of("temp rain_1h snow_1h clouds_all", number(0, 300)),
    "weather_main": one_of("Clouds", "Rain"),
    "weather_description": one_of("few clouds", "light rain"),
    "date_time": lambda row: f"2012-10-02 {row % 24:02d}:00:00",
    "traffic_volume": whole(0, 7000),
}
WEATHER: Final[dict[str, Column]] = {
    "Date Time": lambda row: (
        f"{1 + row // 144 % 28:02d}.{1 + row // 4032 % 12:02d}.2009 {row // 6 % 24:02d}:{row % 6 * 10:02d}:00"
    ),
    **dict.fromkeys(
        [
            *("p (mbar)", "T (degC)", "Tpot (K)", "Tdew (degC)", "rh (%)", "VPmax (mbar)", "VPact (mbar)"),
            *("VPdef (mbar)", "sh (g/kg)", "H2OC (mmol/mol)", "rho (g/m**3)", "wv (m/s)", "max. wv (m/s)"),
        ],
        number(0.1, 20),
    ),
    "wd (deg)": number(0, 360),
}
CARDS: Final[dict[str, Column]] = {
    "Time": float,
    **{f"V{i}": number(-3, 3) for i in range(1, 29)},
    "Amount": number(0, 300),
    "Class": lambda row: int(row % 25 == 0),
}
FONTS: Final[dict[str, Column]] = {
    "font": one_of("AGENCY", "ARIAL"),
    "fontVariant": one_of("scanned"),
    "m_label": whole(32, 126),
    **columns_of("strength italic orientation m_top m_left originalH originalW", number(0, 1)),
    **columns_of("h w", one_of(20)),
    **{f"r{r}c{c}": whole(1, 255) for r in range(20) for c in range(20)},
}


# --- files ---


def image(path: Path, width: int = 64, height: int = 48) -> Path:
    """Writes a picture."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = _numbers.integers(0, 255, (height, width, 3)).astype("uint8")
    Image.fromarray(pixels).save(path, format="JPEG")
    return path


def lines_of_words(path: Path) -> Path:
    path.write_text("\n".join(sentence(_draws.randint(3, 12)) for _ in range(400)))
    return path


def texts(folder: Path, classes: Sequence[str]) -> None:
    """Writes texts in folders for training and tests, one for each class."""
    for part in "train", "test":
        for name in classes:
            (folder / part / name).mkdir(parents=True, exist_ok=True)
            for i in range(60):
                (folder / part / name / f"{i}.txt").write_text(f"{sentence(60)} {name}")


def sounds(folder: Path) -> None:
    """Writes spoken commands, of noise."""
    for name in "down", "go", "left", "no", "right", "stop", "up", "yes":
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in [*range(23), "01bb6a2a"]:
            with wave.open(str(folder / name / f"{i}_nohash_0.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(16000)
                file.writeframes(_numbers.integers(-2000, 2000, 16000).astype("<i2").tobytes())


def street_names(path: Path) -> Path:
    """Writes records of pictures with texts."""
    import tensorflow as tf

    def bytes_of(value: bytes) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    with tf.io.TFRecordWriter(str(path)) as writer:
        for _ in range(6):
            pixels = _numbers.integers(0, 255, (30, 120, 3)).astype("uint8")
            feature = {
                "image/text": bytes_of(b"rue"),
                "image/encoded": bytes_of(tf.io.encode_png(pixels).numpy()),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return path


FLOWERS: Final = ("daisy", "dandelion", "roses", "sunflowers", "tulips")


class Files:
    """Makes the file for an address, and gives the path that `get_file` would.

    Args:
        root: the folder for files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def of(self, address: str, untar: bool = False) -> Path:
        """The path of the file, or of what an archive unpacks to."""
        name = address.rpartition("/")[2]
        for part, make in self._makers().items():
            if part in address:
                return make(self.root / name, untar)
        raise OSError(f"nothing stands in for {address}")

    def _makers(self) -> dict[str, Callable[[Path, bool], Path]]:
        here = Path.cwd()

        def flowers(path: Path, untar: bool) -> Path:
            outer = self.root / "flower_photos_extracted"
            for name in FLOWERS:
                for i in range(24):
                    image(outer / "flower_photos" / name / f"{i}.jpg")
            (outer / "flower_photos" / "LICENSE.txt").write_text("")
            return outer / "flower_photos" if untar else outer

        def pets(path: Path, untar: bool) -> Path:
            for part in "train", "validation":
                for name in "cats", "dogs":
                    for i in range(100):
                        image(self.root / "cats_and_dogs_filtered" / part / name / f"{i}.jpg")
            return path

        def facades(path: Path, untar: bool) -> Path:
            folder = self.root / "facades_extracted" / "facades"
            for part in "train", "test", "val":
                for i in [*range(1, 7), 100]:
                    image(folder / part / f"{i}.jpg", 512, 256)
            return path

        def reviews(path: Path, untar: bool) -> Path:
            texts(self.root / "aclImdb_v1" / "aclImdb", ["pos", "neg"])
            shutil.copytree(
                self.root / "aclImdb_v1/aclImdb/train/pos", self.root / "aclImdb_v1/aclImdb/train/unsup"
            )
            sample = self.root / "aclImdb_v1/aclImdb/train/pos/1181_9.txt"
            sample.write_text(sentence())
            return self.root / "aclImdb_v1"

        def questions(path: Path, untar: bool) -> Path:
            texts(self.root / "stack_overflow", ["csharp", "java", "javascript", "python"])
            (self.root / "stack_overflow/train/python/1755.txt").write_text(sentence())
            return self.root / "stack_overflow" / "archive"

        def commands(path: Path, untar: bool) -> Path:
            sounds(here / "data" / "mini_speech_commands")
            return path

        def animals(path: Path, untar: bool) -> Path:
            table(here / "datasets/petfinder-mini/petfinder-mini.csv", PETS, 600)
            return path

        def physics(path: Path, untar: bool) -> Path:
            rows = table(self.root / "rows.csv", {f"c{i}": number(-2, 2) for i in range(29)}, 12000, False)
            path.write_bytes(gzip.compress(rows.read_bytes()))
            return path

        def traffic(path: Path, untar: bool) -> Path:
            rows = table(self.root / "traffic.csv", TRAFFIC, 500)
            path.write_bytes(gzip.compress(rows.read_bytes()))
            return path

        def fonts(path: Path, untar: bool) -> Path:
            for name in "AGENCY", "ARIAL", "TIMES":
                table(here / "fonts" / f"{name}.csv", FONTS, 60)
            return path

        def digits(path: Path, untar: bool) -> Path:
            (x_train, y_train), (x_test, y_test) = pictures(28, 28, None, 10)()
            np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
            return path

        def rows(columns: dict[str, Column], count: int, **how: Any) -> Callable[[Path, bool], Path]:
            return lambda path, _: table(
                path.with_suffix("") if path.suffix == ".zip" else path, columns, count, **how
            )

        def cards(path: Path, untar: bool) -> Path:
            table(self.root / "creditcard.csv", CARDS, 4000)
            return path

        def weather(path: Path, untar: bool) -> Path:
            table(path.with_suffix(""), WEATHER, 30000)
            return path

        def labels(path: Path, untar: bool) -> Path:
            path.write_text("\n".join(["background", *(f"class {i}" for i in range(1000))]))
            return path

        return {
            "flower_photos": flowers,
            "cats_and_dogs": pets,
            "facades": facades,
            "aclImdb": reviews,
            "stack_overflow": questions,
            "mini_speech": commands,
            "petfinder": animals,
            "HIGGS": physics,
            "Metro": traffic,
            "fonts": fonts,
            "mnist.npz": digits,
            "abalone": rows({f"c{i}": number(0, 20) for i in range(8)}, 500, header=False),
            "titanic": rows(TITANIC, 627),
            "heart.csv": rows(HEART, 303),
            "auto-mpg": rows(
                {**{f"c{i}": number(1, 400) for i in range(7)}, "origin": one_of(1, 2, 3)},
                398,
                header=False,
                between=" ",
            ),
            "wdbc": rows(
                {"id": whole(1, 9**6), "d": one_of("M", "B"), **{f"c{i}": number(0, 100) for i in range(30)}},
                569,
                header=False,
            ),
            "ecg": rows(
                {**{f"c{i}": number(-4, 2) for i in range(140)}, "label": lambda row: row % 2},
                600,
                header=False,
            ),
            "creditcard.csv": rows(CARDS, 4000),
            "creditcard": cards,
            "jena": weather,
            "fsns": lambda path, _: street_names(path),
            "illiad": lambda path, _: lines_of_words(path),
            "ImageNetLabels": labels,
            ".jpg": lambda path, _: image(path, 320, 240),
            ".jpeg": lambda path, _: image(path, 320, 240),
        }


# --- data sets ---


def pictures(height: int, width: int, channels: int | None, classes: int) -> Callable[..., Any]:
    """What `load_data` gives, of fewer pictures."""

    def part(count: int) -> tuple[Any, Any]:
        shape = (count, height, width) if channels is None else (count, height, width, channels)
        labels = (count,) if channels is None else (count, 1)
        return (
            _numbers.integers(0, 256, shape).astype("uint8"),
            _numbers.integers(0, classes, labels).astype("uint8"),
        )

    return lambda *_, **__: (part(256), part(64))


DATASETS: Final = {
    "mnist": pictures(28, 28, None, 10),
    "fashion_mnist": pictures(28, 28, None, 10),
    "cifar10": pictures(32, 32, 3, 10),
    "cifar100": pictures(32, 32, 3, 100),
}


def _columns(name: str) -> tuple[dict[str, Any], int]:
    """The columns of a data set of `tensorflow_datasets`, and how many classes it has."""
    count = 320
    if "mnist" in name:
        x, classes, features = _numbers.integers(0, 256, (count, 28, 28, 1)).astype("uint8"), 10, "image"
    elif "penguins" in name:
        x, classes, features = _numbers.random((count, 4)).astype("float32"), 3, "features"
    elif "flowers" in name:
        x, classes, features = _numbers.integers(0, 256, (40, 300, 320, 3)).astype("uint8"), 5, "image"
    elif "imdb" in name:
        x, classes, features = np.array([sentence(40) for _ in range(count)]), 2, "text"
    elif "horse" in name:
        x, classes, features = _numbers.integers(0, 256, (4, 256, 256, 3)).astype("uint8"), 2, "image"
    elif "pet" in name:
        x = _numbers.integers(0, 256, (32, 128, 128, 3)).astype("uint8")
        mask = _numbers.integers(1, 4, (32, 128, 128, 1)).astype("uint8")
        return {"image": x, "segmentation_mask": mask}, 3
    else:
        raise OSError(f"nothing stands in for the data set {name}")
    return {features: x, "label": _numbers.integers(0, classes, len(x))}, classes


def load(
    name: str,
    split: Any = None,
    batch_size: int | None = None,
    as_supervised: bool = False,
    with_info: bool = False,
    **_: object,
) -> Any:
    """What `tensorflow_datasets.load` gives."""
    import tensorflow as tf

    columns, classes = _columns(name)
    data = tuple(columns.values()) if as_supervised else columns

    def part(_: object) -> Any:
        if batch_size == -1:
            return tf.nest.map_structure(tf.constant, data)
        made = tf.data.Dataset.from_tensor_slices(data)
        return made if batch_size is None else made.batch(batch_size)

    parts = "trainA trainB testA testB" if "horse" in name else "train test validation unsupervised"
    if split is None:
        found: Any = {key: part(key) for key in parts.split()}
    else:
        found = [part(key) for key in split] if isinstance(split, list | tuple) else part(split)
    label = types.SimpleNamespace(num_classes=classes, int2str=str, names=[str(i) for i in range(classes)])
    size = types.SimpleNamespace(num_examples=len(next(iter(columns.values()))))
    info = types.SimpleNamespace(features={"label": label}, splits=dict.fromkeys(parts.split(), size))
    return (found, info) if with_info else found


# --- what is replaced ---

# What notebooks call of `IPython.display`, which shows nothing here.
DISPLAYED: Final = "Audio HTML Image Markdown Video clear_output display"


def install(root: Path) -> None:
    """Replaces what downloads.

    Args:
        root: the folder for files.
    """
    import keras
    import pandas as pd
    import tensorflow as tf

    files = Files(root)
    root.mkdir(parents=True, exist_ok=True)

    def get_file(
        fname: str | None = None, origin: str | None = None, untar: bool = False, **_: object
    ) -> str:
        return str(files.of(origin or fname or "", untar))

    read_csv = pd.read_csv

    def read(path: Any, *args: Any, **options: Any) -> Any:
        return read_csv(files.of(path) if str(path).startswith("http") else path, *args, **options)

    pd.read_csv = read
    modules = types.ModuleType("tensorflow_datasets")
    vars(modules).update(
        load=load,
        __version__="4",
        disable_progress_bar=lambda: None,
        show_examples=lambda *_, **__: None,
        as_numpy=lambda dataset: dataset.as_numpy_iterator(),
        as_dataframe=lambda *_, **__: None,
        visualization=types.SimpleNamespace(show_examples=lambda *_, **__: None),
    )
    sys.modules["tensorflow_datasets"] = modules
    display = types.ModuleType("IPython.display")
    vars(display).update(dict.fromkeys(DISPLAYED.split(), lambda *_, **__: None))
    notebooks = types.ModuleType("IPython")
    vars(notebooks).update(display=display, get_ipython=lambda: None, version_info=(9, 0, 0, ""))
    sys.modules.update({"IPython": notebooks, "IPython.display": display})

    def without_weights(model: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: model(*args, **{**options, "weights": None})

    def decoded(predictions: Any, top: int = 5) -> list[Any]:
        return [
            [("", f"class {i}", float(p)) for i, p in enumerate(row[:top])] for row in np.asarray(predictions)
        ]

    for place in keras, tf.keras:
        place.utils.get_file = get_file
        for name, load_data in DATASETS.items():
            getattr(place.datasets, name).load_data = load_data
        for module, model in (
            ("mobilenet", "MobileNet"),
            ("mobilenet_v2", "MobileNetV2"),
            ("vgg19", "VGG19"),
            ("inception_v3", "InceptionV3"),
        ):
            setattr(place.applications, model, without_weights(getattr(place.applications, model)))
            getattr(place.applications, module).decode_predictions = decoded
