import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/**
 * What pages load together: a browser fetches few large files faster than many small ones. Each group takes its modules
 * with what they import, but for those of the groups before it.
 */
const groups = [
  { name: "start", tags: ["$initial" as const] },
  { name: "shell", test: /shell\/shell\.tsx$/ },
  {
    name: "parts",
    test: /(api\/(live|page-with-rows)|ui\/(badge|empty-state|numbers|panel|permission|time))\.tsx?$/,
  },
  { name: "forms", test: /ui\/(api-form|form-actions|select-field|show-curl|text-field)\.tsx?$/ },
  { name: "rows", test: /(api\/paged-rows|ui\/(data-table|filter-select))\.tsx?$/ },
];

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    target: "es2024",
    // Inlined files would need `data:` in the Content-Security-Policy.
    assetsInlineLimit: 0,
    // The tests measure by it what each page loads. It is not served.
    manifest: "chunks.json",
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: groups.map((group, index) => ({ ...group, priority: groups.length - index })),
        },
      },
    },
  },
});
