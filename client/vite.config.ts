// Builds the client into one file, so that a page without a bundler loads one. The types are made by tsc.
import { defineConfig } from 'vite'

// biome-ignore lint/style/noDefaultExport: as Vite expects
export default defineConfig({
  logLevel: 'warn',
  build: {
    outDir: '../dist/client',
    emptyOutDir: true,
    sourcemap: true,
    target: 'es2022',
    lib: { entry: 'src/index.ts', formats: ['es'], fileName: () => 'index.js' },
  },
})
