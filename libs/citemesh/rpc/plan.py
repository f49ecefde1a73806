"""Which services run here, in which order they start, and where the others are: decided before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citemesh.config.load import ConfigurationError
from citemesh.rpc.spec import ServiceSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """`specs` start in this order; `remote` has the address of each need that is not among them."""

    specs: tuple[ServiceSpec, ...]
    remote: Mapping[str, str]

    @property
    def calls_itself(self) -> bool:
        """Whether a hosted service calls another hosted one, so that calls have to be let in while others end."""
        local = {spec.name for spec in self.specs}
        return any(local.intersection(spec.needs) for spec in self.specs)


def address_variable(service_name: str) -> str:
    """The variable that says where a service is: CITEMESH_RERANK_ADDRESS."""
    return f"CITEMESH_{service_name.upper()}_ADDRESS"


def make_plan(specs: Sequence[ServiceSpec], environ: Mapping[str, str]) -> Plan:
    """Plan a process that hosts `specs`. A local service is preferred to a configured address.

    Raises ConfigurationError that names every need without an address, a service listed twice, or a cycle.
    """
    by_name: dict[str, ServiceSpec] = {}
    for spec in specs:
        if spec.name in by_name:
            raise ConfigurationError(f"The service {spec.name} is listed twice: name it once.")
        by_name[spec.name] = spec
    if not by_name:
        raise ConfigurationError("No service is named: name one or more, or `all`.")
    remote: dict[str, str] = {}
    missing: list[str] = []
    for spec in specs:
        for need in spec.needs:
            address = environ.get(address_variable(need), "").strip()
            if need in by_name or need in remote:
                continue
            if address:
                remote[need] = address
            else:
                missing.append(
                    f"{spec.name} needs {need}: host it too, or set {address_variable(need)} to where it is."
                )
    if missing:
        raise ConfigurationError("\n".join(missing))
    return Plan(_order(by_name), remote)


def _order(by_name: Mapping[str, ServiceSpec]) -> tuple[ServiceSpec, ...]:
    """Needs before those who need them, otherwise as listed."""
    ordered: list[ServiceSpec] = []
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = " -> ".join((*path[path.index(name) :], name))
            raise ConfigurationError(f"Services need each other in a circle: {cycle}. One of them has to stop calling.")
        if name in done:
            return
        for need in by_name[name].needs:
            if need in by_name:
                visit(need, (*path, name))
        done.add(name)
        ordered.append(by_name[name])

    for name in by_name:
        visit(name, ())
    return tuple(ordered)
