// @ts-check
/**
 * The upload page: takes what is dropped or chosen, packs folders, sends all of it with a bar.
 * Without this script the form does the same with one archive.
 */

import { filesOf, filesUnder, sortFound } from "./chosen_files.js";
import { one } from "./elements.js";
import { sizeText } from "./figures.js";
import { pastedKind } from "./landing_paste.js";
import { startRecent } from "./landing_recent.js";
import { packed, takesSources } from "./packing.js";
import { Sending } from "./sending.js";

/**
 * @typedef {import("./chosen_files.js").Chosen} Chosen
 * @typedef {import("./chosen_files.js").Dump} Dump
 * @typedef {import("./packing.js").Told} Told
 * @typedef {{max_upload_bytes: number, max_log_bytes: number}} PageData
 */

const MAX_LOGS = 9;

class UploadPage {
  constructor() {
    /** @type {PageData} */
    this.limits = JSON.parse(one("#page-data", HTMLScriptElement).textContent ?? "");
    this.form = one("#upload", HTMLFormElement);
    this.archiveInput = one("#dump", HTMLInputElement);
    this.folderInput = one("[data-folder]", HTMLInputElement);
    this.logInput = one("[data-log-input]", HTMLInputElement);
    this.logText = one("#log", HTMLTextAreaElement);
    this.problem = one("[data-problem]", HTMLElement);
    /** @type {Dump | null} */
    this.dump = null;
    /** @type {File[]} */
    this.logs = [];
    /** @type {File[]} */
    this.sources = [];
  }

  start() {
    // The plain inputs give way; what they would send is sent by `send`.
    this.archiveInput.hidden = true;
    this.archiveInput.removeAttribute("name");
    this.logInput.hidden = true;
    this.logInput.removeAttribute("name");
    one("[data-drop-words]", HTMLElement).hidden = false;
    this.button("[data-choose-archive]", () => this.archiveInput.click());
    this.button("[data-choose-folder]", () => this.folderInput.click());
    this.button("[data-choose-logs]", () => this.logInput.click());
    this.archiveInput.addEventListener("change", () => this.takeInput(this.archiveInput));
    this.folderInput.addEventListener("change", () => this.takeInput(this.folderInput));
    this.logInput.addEventListener("change", () => {
      this.take({ dump: null, logs: [...(this.logInput.files ?? [])], sources: [] });
      this.logInput.value = "";
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.watchDrops();
    addEventListener("paste", (event) => this.takePaste(event));
  }

  /**
   * Files from the clipboard, or a text that is pasted beside the fields: an HLO text or a log.
   * @param {ClipboardEvent} event
   */
  takePaste(event) {
    if (this.form.hidden || !event.clipboardData) return;
    const { files } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    const isField = event.target instanceof HTMLElement && event.target.matches("input, textarea");
    if (files.length) {
      this.take(sortFound(filesOf(files)));
    } else if (pastedKind(text) === "hlo" && event.target !== this.logText) {
      this.take(sortFound(filesOf([new File([text], "pasted.txt", { type: "text/plain" })])));
    } else if (pastedKind(text) === "log" && !isField) {
      this.logText.value += text;
      this.logText.focus();
    } else {
      return;
    }
    event.preventDefault();
  }

  /**
   * @param {string} selector
   * @param {() => void} action
   */
  button(selector, action) {
    const button = one(selector, HTMLButtonElement);
    button.hidden = false;
    button.addEventListener("click", action);
  }

  watchDrops() {
    // Anywhere on the page, so that a near miss does not open the file in place of the page.
    let depth = 0;
    const mark = () => document.body.classList.toggle("dragging", depth > 0);
    addEventListener("dragenter", () => {
      depth += 1;
      mark();
    });
    addEventListener("dragleave", () => {
      depth -= 1;
      mark();
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", async (event) => {
      event.preventDefault();
      depth = 0;
      mark();
      if (!event.dataTransfer) return;
      // Entries and files are only to be had now; later the lists of the event are empty.
      const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry());
      const entries = items.filter((entry) => entry !== null);
      const files = filesOf(event.dataTransfer.files);
      const toLog = event.target === this.logText;
      try {
        const found = entries.length ? await filesUnder(entries) : files;
        if (toLog) this.take({ dump: null, logs: found.map(({ file }) => file), sources: [], why: "" });
        else this.take(sortFound(found));
      } catch (error) {
        this.tell(`The folder could not be read: ${wordsOf(error)}`);
      }
    });
  }

  /** @param {HTMLInputElement} input */
  takeInput(input) {
    this.take(sortFound(filesOf(input.files ?? [])));
    input.value = "";
  }

  /** @param {Chosen} chosen */
  take({ dump, logs, sources, why }) {
    this.problem.hidden = true;
    if (dump) this.dump = dump;
    this.logs = [...this.logs, ...logs];
    this.sources = [...this.sources, ...sources];
    this.show();
    if (why) this.tell(why);
    else if (!dump && !logs.length && !sources.length) this.tell("There is no file in it.");
  }

  show() {
    const { dump } = this;
    one("[data-chosen-dump]", HTMLElement).replaceChildren(
      ...(dump
        ? [
            row(dump.name, dumpText(dump), () => {
              this.dump = null;
              this.show();
              one("[data-choose-archive]", HTMLButtonElement).focus();
            }),
          ]
        : []),
      ...this.sources.map((source) =>
        row(source.name, sizeText(source.size), () => {
          this.sources = this.sources.filter((other) => other !== source);
          this.show();
          one("[data-choose-archive]", HTMLButtonElement).focus();
        }),
      ),
    );
    one("[data-chosen-logs]", HTMLElement).replaceChildren(
      ...this.logs.map((log) =>
        row(log.name, sizeText(log.size), () => {
          this.logs = this.logs.filter((other) => other !== log);
          this.show();
          one("[data-choose-logs]", HTMLButtonElement).focus();
        }),
      ),
    );
  }

  /** @param {string} text */
  tell(text) {
    this.problem.textContent = text;
    this.problem.hidden = false;
    this.problem.scrollIntoView({ block: "nearest" });
  }

  /** What cannot be sent, and why; null where all is well. */
  complaint() {
    const { max_upload_bytes, max_log_bytes } = this.limits;
    if (!this.dump && !this.logs.length && !this.logText.value.trim()) {
      return "Choose a dump, or give the log of the run.";
    }
    if (this.sources.length && (!this.dump || !takesSources(this.dump))) {
      const [{ name }] = this.sources;
      return this.dump
        ? `${name} cannot go along with ${this.dump.name}. Drop the folder, or pack it as .tar.gz.`
        : `${name} is shown beside what a dump says of it: choose the dump, too.`;
    }
    const size = [...this.sources, this.dump].reduce((sum, each) => sum + (each?.size ?? 0), 0);
    if (size > max_upload_bytes) {
      return `The dump has ${sizeText(size)}; this server takes ${sizeText(max_upload_bytes)}.`;
    }
    const large = this.logs.find((log) => log.size > max_log_bytes);
    if (large) {
      return `${large.name} has ${sizeText(large.size)}; a log may have ${sizeText(max_log_bytes)}. The end of it is enough.`;
    }
    return this.logs.length > MAX_LOGS ? `At most ${MAX_LOGS} log files can be sent.` : null;
  }

  send() {
    const complaint = this.complaint();
    if (complaint) {
      this.tell(complaint);
      return;
    }
    this.form.hidden = true;
    // What slides under the pointer is not what the second half of a double click meant.
    this.setInert(true);
    const prepare = (/** @type {Told} */ told, /** @type {AbortSignal} */ signal) =>
      this.filledIn(told, signal);
    new Sending(this.form.action, prepare, (why) => this.comeBack(why)).start();
  }

  /** @param {boolean} isInert */
  setInert(isInert) {
    for (const other of document.querySelectorAll("[data-beside]")) {
      other.toggleAttribute("inert", isInert);
    }
  }

  /**
   * All that is sent.
   * @param {Told} told
   * @param {AbortSignal} signal
   */
  async filledIn(told, signal) {
    const data = new FormData(this.form);
    if (!this.logText.value.trim()) data.delete("log");
    if (this.dump) data.append("dump", ...(await packed(this.dump, this.sources, location.hostname, told, signal)));
    for (const log of this.logs) data.append("log", log, log.name);
    return data;
  }

  /**
   * Shows the form again as it was filled in.
   * @param {string} why nothing was sent; "" where the sender stopped it
   */
  comeBack(why) {
    this.form.hidden = false;
    this.setInert(false);
    if (why) this.tell(why);
    else one("[data-choose-archive]", HTMLButtonElement).focus();
  }
}

/** @param {Dump} dump */
function dumpText(dump) {
  const size = sizeText(dump.size);
  return dump.packed ? size : `${dump.files.length.toLocaleString("en")} files, ${size}`;
}

/**
 * @param {string} name
 * @param {string} size
 * @param {() => void} remove
 */
function row(name, size, remove) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Remove";
  button.setAttribute("aria-label", `Remove ${name}`);
  button.addEventListener("click", remove);
  item.append(span("name", name), span("size", size), button);
  return item;
}

/**
 * @param {string} kind
 * @param {string} text
 */
function span(kind, text) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  return element;
}

/** @param {unknown} error */
function wordsOf(error) {
  return error instanceof Error ? error.message : String(error);
}

new UploadPage().start();
startRecent();
