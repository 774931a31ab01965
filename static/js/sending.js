// @ts-check
/** Sends a form with a bar, figures and a way out; goes to the report when it is taken. */

import { one } from "./elements.js";
import { sendingText } from "./figures.js";

const SPOKEN_STEP = 0.1;

/** One transfer, with its bar, its words and its way out. */
export class Sending {
  /**
   * @param {string} address
   * @param {FormData} data
   * @param {(why: string) => void} comeBack is told why nothing was sent, "" when cancelled
   */
  constructor(address, data, comeBack) {
    this.address = address;
    this.data = data;
    this.comeBack = comeBack;
    this.request = new XMLHttpRequest();
    this.section = one("[data-sending]", HTMLElement);
    this.bar = one("[data-bar]", HTMLProgressElement);
    this.figures = one("[data-figures]", HTMLElement);
    this.spoken = one("[data-spoken]", HTMLElement);
    this.spokenAt = 0;
    this.begun = performance.now();
  }

  start() {
    const { request } = this;
    this.section.hidden = false;
    this.bar.removeAttribute("value");
    this.figures.textContent = "Starting";
    one("#sending-title", HTMLElement).focus();
    one("[data-cancel]", HTMLButtonElement).onclick = () => request.abort();
    request.upload.onprogress = (event) => this.showProgress(event);
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
    request.send(this.data);
  }

  /** @param {ProgressEvent} event */
  showProgress({ loaded, total }) {
    const part = loaded / total;
    this.bar.value = part;
    this.figures.textContent = sendingText(loaded, total, (performance.now() - this.begun) / 1000);
    if (part - this.spokenAt >= SPOKEN_STEP) {
      this.spokenAt = part;
      this.spoken.textContent = `${Math.round(part * 100)} percent sent`;
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
