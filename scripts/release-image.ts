// Builds deploy/Dockerfile, and saves the image as a file.
import { execFileSync, spawnSync } from 'node:child_process'
import { createReadStream, createWriteStream, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')
export const DOCKERFILE = join(ROOT, 'deploy', 'Dockerfile')
/** The image that it begins with. */
export const [, BASE = ''] = /^FROM (\S+)/m.exec(readFileSync(DOCKERFILE, 'utf8')) ?? []

interface Builder {
  readonly pull: readonly string[]
  readonly build: readonly string[]
  save(image: string, file: string): readonly string[]
}

/** In the order in which they are tried. Without `--format docker` the image of buildah has no health check. */
const BUILDERS: Readonly<Record<string, Builder>> = {
  buildah: {
    pull: ['pull', '--quiet', '--policy', 'missing'],
    build: ['bud', '--quiet', '--format', 'docker', '--ignorefile', `${DOCKERFILE}.dockerignore`],
    save: (image, file) => ['push', '--quiet', image, `docker-archive:${file}:${image}`],
  },
  docker: {
    pull: ['pull', '--quiet'],
    build: ['build', '--quiet'],
    save: (image, file) => ['save', '--output', file, image],
  },
}

/** The file of the image, if it can be made here. `options`: more of them for the build. */
export async function saveImage(version, folder, options: readonly string[] = []): Promise<readonly string[]> {
  const found = Object.entries(BUILDERS).find(([name]) => spawnSync(name, ['--version']).error === undefined)
  if (!found) return skipImage('neither buildah nor docker is installed')
  const [program, { pull, build, save }] = found
  if (spawnSync(program, [...pull, BASE]).status !== 0) return skipImage(`${BASE} cannot be pulled`)
  const image = `cardea:${version}`
  const call = (args) => execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  call([...build, ...options, '--file', DOCKERFILE, '--tag', image, ROOT])
  const file = join(folder, `cardea-${version}-linux-${process.arch}.tar`)
  rmSync(file, { force: true })
  call(save(image, file))
  await pipeline(createReadStream(file), createGzip(), createWriteStream(`${file}.gz`))
  rmSync(file)
  const size = (statSync(`${file}.gz`).size / 2 ** 20).toFixed(0)
  console.log(`image     ${basename(file)}.gz: ${size} MiB, made with ${program}`)
  return [`${file}.gz`]
}

function skipImage(reason) {
  console.log(`image     not made: ${reason}`)
  return []
}
