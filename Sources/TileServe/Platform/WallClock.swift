#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

enum WallClock {
  /// Seconds since 1970.
  static var seconds: Int {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec
  }
}

/// For spans of time: runs on whatever the wall's clock is set to.
enum MonotonicClock {
  /// Seconds since some moment in the past.
  static var seconds: Double {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
  }
}

enum FileDescriptors {
  /// Raises the number of files and sockets that the process may have open to what the system allows it.
  ///
  /// - Returns: the number from now on.
  @discardableResult
  static func raiseLimit() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 256 }
    #if canImport(Darwin)
      // More is promised than setrlimit grants.
      let wanted = min(limit.rlim_max, rlim_t(OPEN_MAX))
    #else
      let wanted = limit.rlim_max
    #endif
    if limit.rlim_cur < wanted {
      limit.rlim_cur = wanted
      setrlimit(resource, &limit)
      getrlimit(resource, &limit)
    }
    return Int(clamping: limit.rlim_cur)
  }
}
