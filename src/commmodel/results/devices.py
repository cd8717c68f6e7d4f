"""Configurations of buffers in the memory of accelerators: `DeviceMessage` and `DeviceCopy`."""

from commmodel.choices import CopyDirection, DeviceWay, HostMemory
from commmodel.results.quantities import Count, MessagePath, SomeBytes
from commmodel.structs import InputStruct


class DeviceMessage(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="device"):
    """Blocking ping-pongs of buffers in the memory of accelerators, `pairs` at once, by mpi4py; half round trips."""

    message_size: SomeBytes
    way: DeviceWay
    path: MessagePath
    pairs: Count = 1


class DeviceCopy(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="device-copy"):
    """A copy between the memory of an accelerator and that of its host, with the wait until it is done."""

    message_size: SomeBytes
    operation: CopyDirection
    memory: HostMemory
    """Of the host."""
