import { describeStore } from '../contract/store.ts'
import { createSqlitePlace } from './places.ts'

describeStore('SQLite', createSqlitePlace)
