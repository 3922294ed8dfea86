// Makes the files of a release in release/:
//   node scripts/release.ts [--out FOLDER] [--package FILE]
//
// With --package, that file is used instead of packing this checkout, and no image is made.
//
//   cardea-VERSION.tgz                 the package, for `npm install`
//   cardea-VERSION.cdx.json            its dependencies (SBOM, CycloneDX)
//   cardea-VERSION-linux-ARCH.tar.gz   the image for this architecture: gunzip --stdout FILE | docker load
//   SHA256SUMS                         the checksums of all
//
// The image is made where buildah or docker is installed and the base image can be pulled; otherwise a line says so.
// It fails if a dependency has a licence that is not in the list below, or a known vulnerability. Vulnerabilities are
// looked up at the registry of npm; where it cannot be reached, a line says so.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { saveImage } from './release-image.ts'

/** Licences that let every user of Cardea use, change and pass on the dependency without further conditions. */
const LICENCES = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'MIT-0'])

const OPTIONS = { out: { type: 'string', default: 'release' }, package: { type: 'string' } } as const
const { values } = parseArgs({ options: OPTIONS })
const folder = resolve(values.out)

/** The standard output of npm. Its progress and the output of the build go to standard error. */
const npm = (...args) =>
  execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 26 })

function pack() {
  const output = npm('pack', '--json', '--foreground-scripts=false', '--pack-destination', folder)
  const [{ filename, entryCount, unpackedSize }] = JSON.parse(output.slice(output.indexOf('[')))
  console.log(`package   ${filename}: ${entryCount} files, ${(unpackedSize / 2 ** 20).toFixed(1)} MiB unpacked`)
  return join(folder, filename)
}

function copyPackage(file) {
  const copy = join(folder, basename(file))
  copyFileSync(file, copy)
  console.log(`package   ${basename(file)}`)
  return copy
}

/** `npm sbom --omit=dev` also leaves out packages that tools of development share with Cardea, so this does it. */
function writeSbom(tarball) {
  const file = tarball.replace(/\.tgz$/, '.cdx.json')
  const all = JSON.parse(npm('sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'))
  const kept = listRuntimePackages()
  const components = all.components.filter((component) => kept.has(component['bom-ref']))
  const dependencies = all.dependencies
    .filter(({ ref }) => kept.has(ref) || ref === all.metadata.component['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => kept.has(name)) }))
  writeFileSync(file, `${JSON.stringify({ ...all, components, dependencies }, undefined, 2)}\n`)
  console.log(`SBOM      ${basename(file)}: ${components.length} packages`)
  return { file, components }
}

interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}

/** `name@version` of every package that is installed with Cardea. */
function listRuntimePackages() {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const runtime = Object.entries(packages).filter(([path, { dev, devOptional }]) => path && !dev && !devOptional)
  return new Set(runtime.map(([path, { version }]) => `${nameOf(path)}@${version}`))
}

interface Component {
  readonly name: string
  readonly version: string
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[]
}

const licencesOf = ({ licenses = [] }: Component) =>
  licenses.map(({ license, expression }) => license?.id ?? expression ?? 'none')

function checkLicences(components: readonly Component[]) {
  const unknown = components
    .map((component) => ({ component, licences: licencesOf(component) }))
    .filter(({ licences }) => licences.length === 0 || !licences.every((licence) => LICENCES.has(licence)))
  for (const { component, licences } of unknown)
    console.error(`licence   ${component.name} ${component.version}: ${licences.join(', ') || 'none'} is not accepted`)
  if (unknown.length > 0) throw new Error('a dependency has a licence that scripts/release.ts does not list')
  console.log(`licences  ${[...new Set(components.flatMap(licencesOf))].sort().join(', ')}`)
}

function checkVulnerabilities() {
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const { metadata, vulnerabilities = {} } = readJson(stdout)
  if (!metadata)
    return console.log(
      'audit     not done: the npm registry cannot be reached. Run `npm audit --omit=dev` where it can',
    )
  for (const { name, severity } of Object.values<Record<string, string>>(vulnerabilities))
    console.error(`audit     ${name}: ${severity}`)
  if (metadata.vulnerabilities.total > 0) throw new Error('a dependency has a known vulnerability')
  console.log(`audit     no known vulnerability in ${metadata.dependencies.prod} packages`)
}

function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function writeChecksums(files) {
  const line = (file) => `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`
  writeFileSync(join(folder, 'SHA256SUMS'), files.map(line).join(''))
  console.log(`checksums ${join(folder, 'SHA256SUMS')}`)
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const tarball = values.package ? copyPackage(values.package) : pack()
const sbom = writeSbom(tarball)
checkLicences(sbom.components)
checkVulnerabilities()
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
writeChecksums([tarball, sbom.file, ...(values.package ? [] : await saveImage(version, folder))])
