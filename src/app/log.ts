export { createLog } from '../journal/log.ts'
