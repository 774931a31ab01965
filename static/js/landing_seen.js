// @ts-check
/** On a report's page: remembers it for the list of the landing page. */

import { withSeen } from "./landing_list.js";
import { readSeen, writeSeen } from "./landing_storage.js";

const name = document.title.replace(/ - hloscope$/, "");
const dump = document.querySelector(".input-name")?.textContent?.trim() ?? "";
writeSeen(withSeen(readSeen(), { url: location.pathname, name, dump, when: Date.now() }));
