// @ts-check
/** Sizes, speeds and times as people read them. Pure. */

const UNITS = ["bytes", "KiB", "MiB", "GiB"];

/**
 * `3.4 MiB` for a number of bytes.
 * @param {number} size
 */
export function sizeText(size) {
  let unit = 0;
  let value = size;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${size} ${size === 1 ? "byte" : "bytes"}`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/**
 * `3 of 8 MiB, 1.2 MiB a second, about 4 s left`.
 * @param {number} sent bytes
 * @param {number} total bytes
 * @param {number} elapsed seconds
 */
export function sendingText(sent, total, elapsed) {
  const parts = [`${sizeText(sent)} of ${sizeText(total)}`];
  if (elapsed >= 1 && sent > 0) {
    const speed = sent / elapsed;
    parts.push(`${sizeText(Math.round(speed))} a second`);
    if (sent < total) parts.push(`about ${durationText((total - sent) / speed)} left`);
  }
  return parts.join(", ");
}

/**
 * `12 s`, `3 min`, `2 h`.
 * @param {number} seconds
 */
export function durationText(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = seconds / 60;
  return minutes < 90 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`;
}
