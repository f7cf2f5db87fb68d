// What Apple's Foundation has and that of Linux has not, or elsewhere: a source beside those that AppleAdapterTests
// check.

import Foundation
import FoundationNetworking

extension URLSession {
  var allTasks: [URLSessionTask] {
    get async { await withCheckedContinuation { all in getAllTasks { all.resume(returning: $0) } } }
  }
}
extension URLRequest {
  var allowsExpensiveNetworkAccess: Bool {
    get { true }
    set {}
  }
  var allowsConstrainedNetworkAccess: Bool {
    get { true }
    set {}
  }
}
