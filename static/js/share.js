// @ts-check
// Copies the address of the page; the button is shown only where the browser can do it.

for (const button of document.querySelectorAll("button[data-copy-link]")) {
  if (!(button instanceof HTMLButtonElement) || !navigator.clipboard) continue;
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.origin + location.pathname);
    button.textContent = "Link copied";
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}
