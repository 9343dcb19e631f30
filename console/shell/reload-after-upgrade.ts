const reloaded_key = "reloaded-after-upgrade";

/**
 * After an upgrade a tab asks for files that the server no longer has: reloads the page, once. Drafts are in
 * session storage, so nothing that was typed is lost.
 */
export function reloadOnceAfterUpgrade(): void {
  addEventListener("vite:preloadError", (event) => {
    if (sessionStorage.getItem(reloaded_key) === location.href) return;
    sessionStorage.setItem(reloaded_key, location.href);
    event.preventDefault();
    location.reload();
  });
}
