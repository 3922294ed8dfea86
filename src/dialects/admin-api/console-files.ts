// The built files of the console, read once and kept in memory.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** One file below `/_cardea/assets/`. Its name changes with its content. */
export interface Asset {
  readonly type: string
  /** By content coding; `identity` is the file itself. */
  readonly bodies: Readonly<Record<'identity' | 'gzip' | 'br', Uint8Array>>
}

export interface ConsoleFiles {
  /** Contains the placeholders `{{token}}`, `{{signIn}}` and `{{nonce}}`. */
  readonly page: string
  /** The sign-in page, with the placeholders `{{options}}` and `{{nonce}}`. */
  readonly signInPage: string
  readonly assets: ReadonlyMap<string, Asset>
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** For a checkout without a build. The page keeps its placeholders, so it is delivered like the real one. */
const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="cardea-page-token" content="{{token}}">
<meta name="cardea-sign-in" content="{{signIn}}">
<meta name="cardea-options" content="{{options}}">
<title>Cardea</title>
</head>
<body>
<h1>Cardea</h1>
<p>The console is not built. Run <code>npm run build</code> and start Cardea again.</p>
</body>
</html>
`

/** Reads what `npm run build` made in this folder. */
export function loadConsoleFiles(folder: URL): ConsoleFiles {
  const [page, signInPage] = [new URL('index.html', folder), new URL('sign-in.html', folder)]
  if (!existsSync(signInPage)) return { page: NOT_BUILT_PAGE, signInPage: NOT_BUILT_PAGE, assets: new Map() }
  const assets = new URL('assets/', folder)
  const names = readdirSync(assets).filter((name) => TYPES[extensionOf(name)] !== undefined)
  return {
    page: readFileSync(page, 'utf8'),
    signInPage: readFileSync(signInPage, 'utf8'),
    assets: new Map(names.map((name) => [name, loadAsset(new URL(name, assets))])),
  }
}

const loadAsset = (file: URL): Asset => ({
  type: TYPES[extensionOf(file.pathname)] ?? '',
  bodies: {
    identity: readFileSync(file),
    gzip: readFileSync(new URL(`${file}.gz`)),
    br: readFileSync(new URL(`${file}.br`)),
  },
})

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1)
