"""Configurations of buffers in the memory of accelerators: `DeviceMessage`, `DeviceCollective` and `DeviceCopy`."""

from commmodel.choices import CopyDirection, DeviceOperation, DeviceWay, HostMemory
from commmodel.results.quantities import Count, MessagePath, SomeBytes
from commmodel.structs import InputStruct


class DeviceMessage(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="device"):
    """Blocking ping-pongs of buffers in the memory of accelerators, `pairs` at once, by mpi4py; half round trips."""

    message_size: SomeBytes
    way: DeviceWay
    path: MessagePath
    pairs: Count = 1


class DeviceCollective(
    InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="device-collective"
):
    """A collective on buffers in the memory of accelerators, by mpi4py; samples are the time on the slowest rank.

    Each begins after a barrier. Through the host, all that a rank sends is copied out before, and all that it receives
    copied in after the operation; of a broadcast the root copies out, and the others in.
    """

    operation: DeviceOperation
    message_size: SomeBytes
    """What the count says: the whole vector of a broadcast or reduction, one block of the others."""
    processes: Count
    way: DeviceWay


class DeviceCopy(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="device-copy"):
    """A copy between the memory of an accelerator and that of its host, with the wait until it is done."""

    message_size: SomeBytes
    operation: CopyDirection
    memory: HostMemory
    """Of the host."""
