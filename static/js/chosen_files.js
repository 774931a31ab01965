// @ts-check
/**
 * What a person dropped or chose, sorted into one dump, some logs and files of the program.
 * Pure but for reading directory entries; knows no document.
 */

/**
 * @typedef {{path: string, file: File}} Found
 * @typedef {{name: string, size: number, files: Found[], packed: boolean}} Dump
 * @typedef {{dump: Dump | null, logs: File[], sources: File[], why: string}} Chosen
 *   `why` says what of it is left out, "" where nothing is
 */

const ARCHIVE = /\.(tar|tar\.gz|tgz|tar\.zst|tzst|zip|gz|zst)$/i;
/** What XLA writes packed, which is one file of a dump and no archive. */
const PACKED = /(^|\/)module_\d[^/]*$|\.pb\.gz$/i;
const LOG = /(\.(log|err|out)|(^|[/_.-])(stderr|stdout)(\.txt)?)$/i;
/** Beside an archive, which holds the dump, a text that is not XLA's is what the run printed. */
const TEXT = /^(?!module_\d).*\.(?:txt|log\.\d{1,4})$/i;
const SOURCE = /\.py$/i;
const MOST_NAMED = 4;
const UNWANTED = /(^|\/)(\.DS_Store|Thumbs\.db|desktop\.ini)$/;

/**
 * Sorts found files: a single archive or text is sent as it is, anything more is packed. An archive
 * is a dump by itself, so that nothing else is packed with it.
 * @param {readonly Found[]} found
 * @returns {Chosen}
 */
export function sortFound(found) {
  const wanted = found.filter(({ path }) => !UNWANTED.test(path));
  // What lies in a folder stays in it: only beside the dump it is the run's log or program.
  const isArchived = (/** @type {Found} */ { path }) =>
    !path.includes("/") && ARCHIVE.test(path) && !PACKED.test(path);
  const isPacked = wanted.some(isArchived);
  const isLog = (/** @type {Found} */ { path }) =>
    !path.includes("/") && (LOG.test(path) || (isPacked && TEXT.test(path)));
  const isSource = (/** @type {Found} */ { path }) => !path.includes("/") && SOURCE.test(path);
  const logs = wanted.filter(isLog).map(({ file }) => file);
  const sources = wanted.filter(isSource).map(({ file }) => file);
  const files = wanted.filter((each) => !isLog(each) && !isSource(each));
  if (!isPacked || files.length === 1) {
    return { dump: files.length ? dumpOf(files) : null, logs, sources, why: "" };
  }
  const archives = files.filter(isArchived);
  if (archives.length > 1) {
    const names = listed(archives.map(({ path }) => path));
    const why = `${names}: a report is of one dump. Choose one of them; two reports can be compared.`;
    return { dump: null, logs, sources, why };
  }
  const others = listed(files.filter((each) => !archives.includes(each)).map(({ path }) => path));
  const why = `Left out, as ${archives[0].path} is the dump: ${others}.`;
  return { dump: dumpOf(archives), logs, sources, why };
}

/** @param {string[]} names */
function listed(names) {
  const shown = names.slice(0, MOST_NAMED).join(", ");
  const more = names.length - MOST_NAMED;
  return more > 0 ? `${shown} and ${more.toLocaleString("en")} more` : shown;
}

/**
 * @param {Found[]} files
 * @returns {Dump}
 */
function dumpOf(files) {
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (files.length === 1 && !files[0].path.includes("/")) {
    return { name: files[0].path, size, files, packed: true };
  }
  const tops = new Set(files.map(({ path }) => path.split("/")[0]));
  const name = tops.size === 1 ? [...tops][0] : "dump";
  return { name, size, files, packed: false };
}

/** @param {string} name */
export function isArchive(name) {
  return ARCHIVE.test(name);
}

/**
 * All files under dropped entries, folders walked through, in the order of their paths.
 * @param {readonly FileSystemEntry[]} entries
 * @param {number} most files are read; beyond it the drop is refused
 * @returns {Promise<Found[]>}
 */
export async function filesUnder(entries, most = 200_000) {
  /** @type {Found[]} */
  const found = [];
  const waiting = [...entries];
  for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
    if (entry.isDirectory) {
      waiting.push(...(await children(/** @type {FileSystemDirectoryEntry} */ (entry))));
    } else {
      const file = await fileOf(/** @type {FileSystemFileEntry} */ (entry));
      found.push({ path: entry.fullPath.replace(/^\/+/, ""), file });
    }
    if (found.length + waiting.length > most) throw new Error(`there are more than ${most} files`);
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Files of an input, with their paths where a folder was chosen.
 * @param {Iterable<File>} files
 * @returns {Found[]}
 */
export function filesOf(files) {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/**
 * @param {FileSystemDirectoryEntry} folder
 * @returns {Promise<FileSystemEntry[]>}
 */
async function children(folder) {
  const reader = folder.createReader();
  const all = [];
  // Chromium hands out a hundred at a time, and an empty list at the end.
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return all;
    all.push(...some);
  }
}

/**
 * @param {FileSystemFileEntry} entry
 * @returns {Promise<File>}
 */
function fileOf(entry) {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
