import { type LookupAddress, type LookupOptions, lookup as resolve } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";

/** Raised instead of a connection to an address that no server may have (semantics 1.8). */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  readonly code = "ADDRESS_REFUSED";

  constructor(host: string, address: string) {
    super(
      host === address
        ? `${address} is a link-local or metadata address`
        : `${host} resolves to ${address}, a link-local or metadata address`,
    );
  }
}

/** Where clouds serve credentials to whoever asks, outside the link-local ranges too; and IPv4 link-local inside IPv6. */
const forbidden = new BlockList();
forbidden.addSubnet("169.254.0.0", 16, "ipv4");
forbidden.addSubnet("fe80::", 10, "ipv6");
forbidden.addSubnet("64:ff9b::a9fe:0", 112, "ipv6"); // NAT64 of 169.254.0.0/16
forbidden.addSubnet("2002:a9fe::", 32, "ipv6"); // 6to4 of 169.254.0.0/16
forbidden.addSubnet("::a9fe:0", 112, "ipv6"); // IPv4-compatible form of 169.254.0.0/16
for (const address of ["100.100.100.200", "168.63.129.16", "192.0.0.192"]) forbidden.addAddress(address, "ipv4");
for (const address of ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"]) forbidden.addAddress(address, "ipv6");

/** Whether `address` is link-local or serves cloud metadata (semantics 1.8). Private and loopback addresses are not. */
export function isForbiddenAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const family = isIP(plain);
  return family !== 0 && forbidden.check(plain, family === 6 ? "ipv6" : "ipv4");
}

/** Resolves a name and hands on the permitted addresses only, so that the address checked is the one connected to. */
const guardedLookup: LookupFunction = (hostname, options, done) => {
  const all: LookupOptions & { all: true } = { ...options, all: true };
  resolve(hostname, all, (error, addresses: LookupAddress[]) => {
    if (error) return done(error, "", 0);
    const permitted = addresses.filter((entry) => !isForbiddenAddress(entry.address));
    const first = permitted[0];
    if (!first) return done(new AddressRefused(hostname, addresses[0]?.address ?? "nothing"), "", 0);
    return options.all ? done(null, permitted) : done(null, first.address, first.family);
  });
};

/**
 * A connector for undici that never connects to a forbidden address: literals are checked before, names at their
 * resolution, and the socket's remote address once more before a byte is written.
 */
export function guardedConnector(options: {
  timeoutMs: number;
  certificateAuthority?: string;
}): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    lookup: guardedLookup,
    ...(options.certificateAuthority === undefined ? {} : { ca: options.certificateAuthority }),
  });
  return (target, done) => {
    if (isForbiddenAddress(target.hostname)) {
      done(new AddressRefused(target.hostname, target.hostname), null);
      return;
    }
    connect(target, (...result) => {
      const [, socket] = result;
      const remote = socket?.remoteAddress;
      if (socket && remote !== undefined && isForbiddenAddress(remote)) {
        socket.destroy();
        done(new AddressRefused(target.hostname, remote), null);
        return;
      }
      done(...result);
    });
  };
}
