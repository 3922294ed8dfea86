/** Imported first by every entry of the package: later modules need a newer Node to run. */
import { PRODUCT, REQUIRED_NODE } from './base/product.ts'

const toNumbers = (version: string): [major: number, minor: number] => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return [major, minor]
}

const [major, minor] = toNumbers(process.versions.node)
const [requiredMajor, requiredMinor] = toNumbers(REQUIRED_NODE)

if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor))
  throw new Error(`${PRODUCT.name} needs Node ${REQUIRED_NODE} or later; this is ${process.versions.node}.`)
