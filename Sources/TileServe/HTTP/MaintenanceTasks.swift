import Logging
import NIOCore
import NIOPosix
import Support
import Synchronization

/// Maintenance tasks of a server: scanning for bundles, forgetting idle maps, closing connections that exceed their
/// limits, writing the access log.
final class MaintenanceTasks: Sendable {
  private let tasks = Mutex<[RepeatedTask]>([])

  init(
    _ registry: TilesetRegistry, _ prefetcher: Prefetcher, _ options: TileServerOptions,
    _ loops: [NIOLoopBound<LoopState>],
    _ accessLog: AccessLog?,
    _ logger: Logger, _ eventLoop: any EventLoop
  ) {
    let second = TimeAmount.seconds(1)
    var tasks = loops.map { loop in
      loop.eventLoop.scheduleRepeatedTask(initialDelay: second, delay: second) { _ in loop.value.tick() }
    }
    let lane = registry.work.lane(device: .max)
    if options.refreshSeconds > 0 {
      let pause = TimeAmount.seconds(Int64(options.refreshSeconds))
      tasks.append(
        eventLoop.scheduleRepeatedAsyncTask(initialDelay: pause, delay: pause) { _ in
          Self.onThread(registry, lane, eventLoop) { Self.report(registry.refresh(), of: registry, options, logger) }
        })
    }
    let quietPause = TimeAmount.seconds(30)
    tasks.append(
      eventLoop.scheduleRepeatedAsyncTask(initialDelay: quietPause, delay: quietPause) { _ in
        Self.onThread(registry, lane, eventLoop) { prefetcher.forgetQuiet(at: MonotonicClock.seconds) }
      })
    if let accessLog {
      let lane = registry.work.lane(device: .max - 1)
      tasks.append(
        eventLoop.scheduleRepeatedAsyncTask(initialDelay: second, delay: second) { _ in
          Self.onThread(registry, lane, eventLoop) { accessLog.flush() }
        })
    }
    self.tasks.withLock { $0 = tasks }
  }

  func stop() {
    for task in tasks.withLock({ $0 }) { task.cancel() }
  }

  private static func onThread(
    _ registry: TilesetRegistry, _ lane: WorkPool.Lane, _ eventLoop: any EventLoop,
    _ work: @escaping @Sendable () -> Void
  ) -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    let accepted = registry.work.submit(lane) {
      work()
      promise.succeed()
    }
    if !accepted { promise.succeed() }
    return promise.futureResult
  }

  private static func report(
    _ change: TilesetRegistry.Change, of registry: TilesetRegistry, _ options: TileServerOptions, _ logger: Logger
  ) {
    for id in change.added { logger.info("new tileset \(id)") }
    for id in change.replaced { logger.info("tileset \(id) was replaced") }
    for id in change.removed { logger.info("tileset \(id) is gone") }
    for (id, reason) in change.failed.sorted(by: { $0.key < $1.key }) {
      logger.warning("\(id) cannot be served: \(reason)")
    }
    for tileset in registry.tilesets {
      for warning in tileset.takeWarnings() { logger.warning("\(tileset.id): \(options.text(of: warning))") }
    }
  }
}
