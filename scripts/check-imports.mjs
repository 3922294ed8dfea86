// Checks every import in src/ against the table of rooms. Prints what is wrong and ends with 1.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { PACKAGES, ROOMS } from './rooms.mjs'

const IMPORT = /^(?:import|export)\s+(type\s)?[^'";]*?from '([^']+)'|\bimport\('([^']+)'\)/gm
const roomOf = (path) => path.split(sep)[0]
const isOutside = (file) => !file.includes(sep)

const relativeProblem = (file, target, type) => {
  const to = roomOf(normalize(join(dirname(file), target)))
  const from = roomOf(file)
  if (from === 'dialects') {
    const own = file.split(sep)[1]
    const other = normalize(join(dirname(file), target)).split(sep)
    if (other[0] === 'dialects' && other[1] !== own) return `${file} may not import the dialect ${other[1]}`
  }
  const rule = ROOMS[from]
  if (!rule) return `${file}: unknown room`
  const isAllowed = to === from || rule.values.includes(to) || (type && rule.types.includes(to))
  return isAllowed ? undefined : `${file} may not import ${type ? 'types from' : 'values from'} ${to}`
}

const packageProblem = (file, target) => {
  if (target.startsWith('node:')) return undefined
  const name = target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : target.split('/')[0]
  const place = PACKAGES[name]
  return place?.test(file.replaceAll(sep, '/')) ? undefined : `${file} may not import the package ${name}`
}

const problems = []
for (const file of readdirSync('src', { recursive: true })) {
  if (!file.endsWith('.ts') || isOutside(file)) continue
  for (const [, type, from, dynamic] of readFileSync(join('src', file), 'utf8').matchAll(IMPORT)) {
    const target = from ?? dynamic
    const problem = target.startsWith('.') ? relativeProblem(file, target, type) : packageProblem(file, target)
    if (problem) problems.push(problem)
  }
}
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
