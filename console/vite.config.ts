import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    target: "es2024",
    // Inlined files would need `data:` in the Content-Security-Policy.
    assetsInlineLimit: 0,
    // The tests measure by it what each page loads. It is not served.
    manifest: "chunks.json",
    modulePreload: { polyfill: false },
  },
});
