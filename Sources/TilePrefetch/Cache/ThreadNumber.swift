import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Numbers the threads in the order in which they ask, so that few of them share a lane.
@usableFromInline
enum ThreadNumber {
  private static let count = Atomic<Int>(0)

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = pthread_key_create(&key, nil)
    precondition(error == 0, "the system has no keys for threads left")
    return key
  }()

  /// The calling thread's, from 1.
  @usableFromInline static var current: Int {
    let known = Int(bitPattern: pthread_getspecific(key))
    return known != 0 ? known : assign()
  }

  private static func assign() -> Int {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    // Where the system has no memory for it, the thread gets another number the next time; any will do.
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
    return number
  }
}
