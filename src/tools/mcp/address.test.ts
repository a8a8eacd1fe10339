import { expect, test } from "vitest";
import { isForbiddenAddress } from "./address.ts";

test.each([
  "169.254.169.254",
  "169.254.0.1",
  "::ffff:169.254.169.254",
  "[fe80::1%eth0]",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
  "fd00:ec2::254",
  "100.100.100.200",
])("%s is never connected to [semantics 1.8]", (address) => {
  expect(isForbiddenAddress(address)).toBe(true);
});

test.each(["127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "fd00::1", "8.8.8.8", "100.100.100.201", "example.com"])(
  "%s may be connected to: servers live in the cluster [semantics 1.8]",
  (address) => {
    expect(isForbiddenAddress(address)).toBe(false);
  },
);
