// @ts-check
/** Packs and sends a form with a bar, figures and a way out; goes to the report when it is taken. */

import { one } from "./elements.js";
import { sendingText } from "./figures.js";

const SPOKEN_STEP = 0.1;

/** @typedef {import("./packing.js").Told} Told */

/** One transfer, with its bar, its words and its way out. */
export class Sending {
  /**
   * @param {string} address
   * @param {(told: Told, signal: AbortSignal) => Promise<FormData>} prepare makes what is sent
   * @param {(why: string) => void} comeBack is told why nothing was sent, "" when cancelled
   */
  constructor(address, prepare, comeBack) {
    this.address = address;
    this.prepare = prepare;
    this.comeBack = comeBack;
    this.cancelled = new AbortController();
    this.request = new XMLHttpRequest();
    this.section = one("[data-sending]", HTMLElement);
    this.bar = one("[data-bar]", HTMLProgressElement);
    this.figures = one("[data-figures]", HTMLElement);
    this.spoken = one("[data-spoken]", HTMLElement);
  }

  async start() {
    this.section.hidden = false;
    one("#sending-title", HTMLElement).focus();
    one("[data-cancel]", HTMLButtonElement).onclick = () => this.cancelled.abort();
    try {
      this.begin("Packing", "packed");
      const data = await this.prepare((done, total) => this.show(done, total), this.cancelled.signal);
      this.begin("Sending", "sent");
      this.send(data);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.stop(this.cancelled.signal.aborted ? "" : `The files could not be read: ${why}`);
    }
  }

  /**
   * @param {string} title
   * @param {string} verb for the words that are read out
   */
  begin(title, verb) {
    one("#sending-title", HTMLElement).textContent = title;
    this.verb = verb;
    this.begun = performance.now();
    this.spokenAt = 0;
    this.bar.removeAttribute("value");
    this.figures.textContent = "Starting";
  }

  /** @param {FormData} data */
  send(data) {
    const { request } = this;
    this.cancelled.signal.addEventListener("abort", () => request.abort());
    request.upload.onprogress = ({ loaded, total }) => this.show(loaded, total);
    request.upload.onload = () => {
      this.bar.removeAttribute("value");
      this.figures.textContent = "All is sent; the server is putting it away";
    };
    request.onload = () => this.end();
    request.onerror = () => this.stop("The connection broke. Nothing was kept; send it again.");
    request.onabort = () => this.stop("");
    request.open("POST", this.address);
    request.setRequestHeader("Accept", "application/json");
    const token = document.querySelector("[data-token]");
    if (token instanceof HTMLInputElement && token.value) {
      request.setRequestHeader("Authorization", `Bearer ${token.value}`);
    }
    request.send(data);
  }

  /**
   * @param {number} done bytes
   * @param {number} total bytes
   */
  show(done, total) {
    const part = done / total;
    this.bar.value = part;
    const elapsed = (performance.now() - (this.begun ?? 0)) / 1000;
    this.figures.textContent = sendingText(done, total, elapsed);
    if (part - (this.spokenAt ?? 0) >= SPOKEN_STEP) {
      this.spokenAt = part;
      this.spoken.textContent = `${Math.round(part * 100)} percent ${this.verb}`;
    }
  }

  end() {
    /** @type {any} */
    let answer = {};
    try {
      answer = JSON.parse(this.request.responseText);
    } catch {
      // A proxy's page, say: the status has to do.
    }
    if (this.request.status === 201 && typeof answer.url === "string") {
      location.assign(answer.url);
      return;
    }
    const { message = `the server answered ${this.request.status}`, hint = "" } = answer.error ?? {};
    this.stop(`${message.charAt(0).toUpperCase()}${message.slice(1)}. ${hint}`);
  }

  /** @param {string} why */
  stop(why) {
    this.section.hidden = true;
    this.comeBack(why);
  }
}
