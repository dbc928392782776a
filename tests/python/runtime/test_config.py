"""`tf.config`: devices that count as several, and what is noted without effect."""

import pytest

import penstock as tf


def test_a_device_counts_as_several():
    (cpu,) = tf.config.list_physical_devices("CPU")
    soft = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/CPU:1"):
            pass
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        assert [d.name for d in tf.config.list_logical_devices("CPU")] == ["/device:CPU:0", "/device:CPU:1"]
        with tf.device("/CPU:1"):
            assert int(tf.constant(1) + 1) == 2
        assert len(tf.config.experimental.get_virtual_device_configuration(cpu)) == 2
    finally:
        tf.config.set_logical_device_configuration(cpu, None)
        tf.config.set_soft_device_placement(soft)
    assert tf.config.get_logical_device_configuration(cpu) is None
    with pytest.raises(ValueError, match="'logical_devices'"):
        tf.config.set_logical_device_configuration(cpu, [])
    with pytest.raises(ValueError, match="'device'"):
        tf.config.set_logical_device_configuration("CPU", None)


def test_what_is_noted():
    config = tf.config.experimental
    (cpu,) = tf.config.list_physical_devices("CPU")
    config.set_memory_growth(cpu, False)
    assert config.get_memory_growth(cpu) is False
    config.set_memory_growth(cpu, True)
    config.set_device_policy("warn")
    assert config.get_device_policy() == "warn"
    config.set_device_policy(None)
    assert config.get_device_policy() == "silent"
    with pytest.raises(ValueError, match="'device_policy'"):
        config.set_device_policy("loud")
    with pytest.raises(ValueError, match="'device'"):
        config.get_device_details("CPU")
    assert not config.tensor_float_32_execution_enabled()
    assert tf.data.Options.deterministic is None
    options = tf.data.Options()
    options.deterministic = True
    assert (options.deterministic, tf.data.Options().deterministic) == (True, None)


@pytest.mark.parametrize(
    "device",
    [
        tf.DeviceSpec(device_type="CPU", device_index=0),
        "/device:XLA_CPU:0",
        "/device:*:*",
        "/task:3/cpu:1",
        "",
    ],
)
def test_a_device_that_is_not_there_leaves_the_place_open(device):
    with tf.device(device):
        assert (tf.constant(1.0) + 1.0).device.endswith("CPU:0")


@pytest.mark.parametrize(
    "device", ["/cpu:0/gpu:0", "/task:x", "/replica:/cpu:0", "foo:0", "/cpu:x", "/device:a b:0"]
)
def test_a_text_that_names_no_device_is_an_error(device):
    with pytest.raises(ValueError, match="argument 'device_name'"):
        tf.device(device)


def test_graphs_take_functions_of_devices():
    def place(op):
        return "/CPU:0"

    for takes in (tf.device, tf.compat.v1.device):
        with pytest.raises(RuntimeError, match="is a function"):
            takes(place)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        with tf.compat.v1.device(place), graph.device(place):
            x = tf.constant(1.0) + 1.0
        assert session.run(x) == 2


def test_parts_of_devices_of_any_kind():
    assert tf.DeviceSpec.from_string("/device:XLA_GPU:1").device_type == "XLA_GPU"
    with pytest.raises(ValueError, match="names no device"):
        tf.DeviceSpec.from_string("XLA_GPU:1")
