import assert from "node:assert/strict";
import test from "node:test";

import { durationText, sendingText, sizeText } from "../../static/js/figures.js";

test("sizes have three figures at most", () => {
  const sizes = [0, 1, 1023, 1024, 1536, 10 * 1024, 1048575, 3.4 * 1048576, 8 * 2 ** 30, 2 ** 45];
  assert.deepEqual(sizes.map(sizeText), [
    "0 bytes",
    "1 byte",
    "1023 bytes",
    "1.0 KiB",
    "1.5 KiB",
    "10 KiB",
    "1024 KiB",
    "3.4 MiB",
    "8.0 GiB",
    "32768 GiB",
  ]);
});

test("times are rounded to what matters", () => {
  assert.deepEqual([0, 0.2, 12.4, 89, 90, 3600, 5400, 36000].map(durationText), [
    "1 s",
    "1 s",
    "12 s",
    "89 s",
    "2 min",
    "60 min",
    "2 h",
    "10 h",
  ]);
});

test("a transfer says what is left only when it can know", () => {
  const mib = 2 ** 20;
  assert.equal(sendingText(0, 8 * mib, 0), "0 bytes of 8.0 MiB");
  assert.equal(sendingText(mib, 8 * mib, 0.5), "1.0 MiB of 8.0 MiB");
  assert.equal(
    sendingText(2 * mib, 8 * mib, 2),
    "2.0 MiB of 8.0 MiB, 1.0 MiB a second, about 6 s left",
  );
  assert.equal(sendingText(8 * mib, 8 * mib, 4), "8.0 MiB of 8.0 MiB, 2.0 MiB a second");
});
