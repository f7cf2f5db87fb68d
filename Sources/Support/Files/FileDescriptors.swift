import LibC

package enum FileDescriptors {
  /// The number of files and sockets that the process may have open.
  package static var limit: Int { limits.map { Int(clamping: $0.rlim_cur) } ?? 256 }

  /// Raises the number of files and sockets that the process may have open to what the system allows it.
  ///
  /// - Returns: the number from now on.
  @discardableResult
  package static func raiseLimit() -> Int {
    guard var limit = limits else { return self.limit }
    #if canImport(Darwin)
      // The hard limit may exceed what setrlimit accepts.
      let wanted = min(limit.rlim_max, rlim_t(OPEN_MAX))
    #else
      let wanted = limit.rlim_max
    #endif
    if limit.rlim_cur < wanted {
      limit.rlim_cur = wanted
      setrlimit(resource, &limit)
    }
    return self.limit
  }

  private static var limits: rlimit? {
    var limits = rlimit()
    return getrlimit(resource, &limits) == 0 ? limits : nil
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
