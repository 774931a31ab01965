// @ts-check
/** On a report's page: remembers it for the list of the landing page. */

import { withSeen } from "./landing_list.js";
import { readSeen, writeSeen } from "./landing_storage.js";

const name = document.title.replace(/ - hloscope$/, "");
writeSeen(withSeen(readSeen(), { url: location.pathname, name, when: Date.now() }));
