import { testUserOperations } from '../../contract/user-operations.ts'
import { openTestNode } from '../../support/directory.ts'

testUserOperations(openTestNode)
